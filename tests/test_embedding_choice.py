"""Which embedding model a book is asked with: who decides, and where a key may go."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from rag.books.book_settings import MANUAL, Embedding, build_embedder, embedding_of, local_embedding, place_of
from rag.embedding.hosted import connection_of
from rag.embedding.known_models import PACKAGED, Provider
from rag.errors import UsageError
from rag.profiles.profile import Profile, load_profile
from rag.search.reranker import build_reranker
from rag.settings import Settings

HOSTED = Embedding("embed-multilingual-v3.0", "cohere")


pytestmark = pytest.mark.usefixtures("no_variables")


def settings(**variables: Any) -> Settings:
    return Settings(**variables)


def profile(model: str | None) -> Profile:
    own = load_profile("default")
    return own.model_copy(update={"book": own.book.model_copy(update={"collection": "c", "embedding_model": model})})


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, Embedding()),
        ({"COHERE_API_KEY": "k"}, HOSTED),
        ({"COHERE_MODEL": "embed-v4.0"}, Embedding()),
        ({"COHERE_API_KEY": "k", "COHERE_MODEL": "embed-v4.0"}, Embedding("embed-v4.0", "cohere")),
        ({"COHERE_API_KEY": "k", "ASKBOOK_EMBEDDING_MODEL": "packaged"}, Embedding()),
        ({"COHERE_API_KEY": "k", "ASKBOOK_EMBEDDING_MODEL": PACKAGED}, Embedding()),
        (
            {"COHERE_API_KEY": "k", "COHERE_MODEL": "x", "ASKBOOK_EMBEDDING_MODEL": "text-embedding-3-small"},
            Embedding("text-embedding-3-small", "openai"),
        ),
        ({"ASKBOOK_EMBEDDING_MODEL": "text-embedding-9"}, Embedding("text-embedding-9", "openai")),
        ({"ASKBOOK_EMBEDDING_MODEL": "openai:a/b"}, Embedding("a/b", "openai")),
        ({"ASKBOOK_EMBEDDING_MODEL": "cohere:mine"}, Embedding("mine", "cohere")),
        ({"OPENAI_API_KEY": "k"}, Embedding()),
        ({"ASKBOOK_EMBEDDING_MODEL": "multilingual-e5-small"}, Embedding("multilingual-e5-small")),
        ({"ASKBOOK_EMBEDDING_MODEL": "some/folder"}, Embedding(folder=Path("some/folder"))),
    ],
)
def test_the_environment_decides(variables: dict[str, Any], expected: Embedding) -> None:
    assert embedding_of(settings(**variables)) == expected


def test_a_folder_beats_a_model_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "embed-v4.0").mkdir()
    assert embedding_of(settings(ASKBOOK_EMBEDDING_MODEL="embed-v4.0")) == Embedding(folder=Path("embed-v4.0"))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"COHERE_API_KEY": "k"}, Embedding("embed-english-v3.0", "cohere")),
        ({"COHERE_API_KEY": "k", "COHERE_MODEL": "embed-v4.0"}, Embedding("embed-v4.0", "cohere")),
        ({"COHERE_API_KEY": "k", "ASKBOOK_EMBEDDING_MODEL": "packaged"}, Embedding()),
        ({}, Embedding(missing="COHERE_API_KEY")),
    ],
)
def test_the_environment_beats_the_profile_and_the_profile_the_default(
    variables: dict[str, Any], expected: Embedding
) -> None:
    assert embedding_of(settings(**variables), profile("embed-english-v3.0"), "c") == expected


def test_the_model_of_a_profile_counts_for_its_own_collection_alone() -> None:
    assert embedding_of(settings(COHERE_API_KEY="k"), profile("embed-english-v3.0"), "another") == HOSTED


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_packaged_model_is_known_by_its_published_names(name: str) -> None:
    assert embedding_of(settings(COHERE_API_KEY="k"), profile(name), "c") == Embedding()


def test_a_profiles_model_that_nobody_here_can_run_is_refused() -> None:
    with pytest.raises(UsageError, match='encoded by "word2vec"') as caught:
        embedding_of(settings(), profile("word2vec"), "c")
    assert "openai:NAME" in caught.value.hint


def test_each_profile_names_a_model_that_can_be_run() -> None:
    for name in ("documentation-agent", "robotics-tutor"):
        own = load_profile(name)
        chosen = embedding_of(settings(COHERE_API_KEY="k"), own, own.book.collection)
        assert chosen == Embedding(own.book.embedding_model or "", "cohere")


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"ASKBOOK_EMBEDDING_MODEL": "embed-v4.0"}, "The embedding model embed-v4.0 needs COHERE_API_KEY"),
        ({"ASKBOOK_EMBEDDING_MODEL": "text-embedding-3-small"}, "text-embedding-3-small needs OPENAI_API_KEY"),
    ],
)
def test_a_model_that_was_asked_for_without_its_key_is_refused(variables: dict[str, Any], said: str) -> None:
    chosen = settings(**variables)
    with pytest.raises(UsageError, match=said) as caught:
        build_embedder(chosen)
    assert caught.value.hint.endswith("or unset ASKBOOK_EMBEDDING_MODEL.")


def test_a_reranker_without_its_key_is_refused() -> None:
    with pytest.raises(UsageError, match="ASKBOOK_RERANK=cohere needs COHERE_API_KEY"):
        build_reranker(settings(ASKBOOK_RERANK="cohere"))


def test_an_address_that_is_none_is_refused() -> None:
    chosen = settings(COHERE_API_KEY="k", COHERE_BASE_URL="api.cohere.com")
    with pytest.raises(UsageError, match="COHERE_BASE_URL must start with"):
        build_embedder(chosen)


def test_a_key_goes_to_its_own_service_or_the_address_of_its_own_variable() -> None:
    both = {"COHERE_API_KEY": "co", "OPENAI_API_KEY": "sk", "ASKBOOK_RERANK": "cohere"}
    chosen = settings(**both, OPENAI_BASE_URL="http://o.example/v1")
    providers: tuple[Provider, ...] = ("cohere", "openai")
    found = [connection_of(provider, chosen, needs="", variable="") for provider in providers]
    places = [(connection.key.get_secret_value(), connection.address) for connection in found]
    assert places == [("co", "https://api.cohere.com"), ("sk", "http://o.example/v1")]


def test_openais_own_address_is_named_so_that_no_other_variable_leads_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "http://elsewhere.example")
    chosen = settings(OPENAI_API_KEY="sk", ASKBOOK_EMBEDDING_MODEL="text-embedding-3-small")
    built = build_embedder(chosen)
    assert place_of(built) == "at OpenAI (api.openai.com)"


def test_the_manual_is_embedded_inside_this_process_whatever_is_set() -> None:
    chosen = settings(COHERE_API_KEY="k", COHERE_MODEL="embed-v4.0")
    assert build_embedder(chosen, load_profile("default"), MANUAL).model_id == PACKAGED
    assert (
        local_embedding(settings(ASKBOOK_EMBEDDING_MODEL="text-embedding-3-small", OPENAI_API_KEY="k")) == Embedding()
    )
    assert local_embedding(settings(ASKBOOK_EMBEDDING_MODEL="some/folder")) == Embedding(folder=Path("some/folder"))


def test_no_client_is_loaded_before_it_is_used() -> None:
    code = (
        "import sys; from rag.books.book_settings import build_embedder;"
        "from rag.search.reranker import build_reranker;"
        "from rag.settings import Settings; s = Settings.from_env(None); build_embedder(s); build_reranker(s);"
        "print([n for n in ('cohere', 'langchain_cohere', 'openai', 'onnxruntime') if n in sys.modules])"
    )
    environment = {"PATH": os.environ["PATH"], "COHERE_API_KEY": "k", "ASKBOOK_RERANK": "cohere", "PYTHONPATH": "."}
    done = run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "[]"
