"""Hosted embedding models over their wires: what is sent, what is billed, what is believed of the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

from rag.books.book_settings import build_embedder
from rag.embedding import hosted
from rag.errors import AskbookError
from rag.ports import Embedder
from rag.settings import Settings
from tests.cohere_server import CohereServer, cohere_server, reshaped, says
from tests.wire import Reply, Request, WireServer, data, hangs, html, listening, malformed, nobody

KEY = "co-canary"


@pytest.fixture
def server() -> Iterator[CohereServer]:
    with cohere_server() as running:
        yield running


def embedder(server: WireServer, model: str = "embed-english-v3.0") -> Embedder:
    settings = Settings(
        cohere_api_key=SecretStr(KEY), cohere_base_url=server.address, embedding_model=Path(f"cohere:{model}")
    )
    return build_embedder(settings)


def test_nothing_is_called_before_there_is_a_text(server: CohereServer) -> None:
    model = embedder(server)
    assert (model.model_id, model.dimension, model.max_tokens) == ("embed-english-v3.0", 1024, 510)
    assert model.embed_documents([]) == []
    assert server.requests == []


def test_documents_and_queries_are_sent_as_what_they_are(server: CohereServer) -> None:
    model = embedder(server)
    model.embed_documents(["a page"])
    model.embed_query("a question")
    assert server.embedded == [("search_document", "a page"), ("search_query", "a question")]


def test_several_questions_go_in_one_request_and_come_back_in_their_order(server: CohereServer) -> None:
    model = embedder(server)
    texts = ["and how warm?", "and how warm? How warm is the water?"]
    assert model.embed_queries(texts) == [model.embed_query(text) for text in texts]
    assert server.requests[0].body["texts"] == texts
    assert {kind for kind, _ in server.embedded} == {"search_query"}
    assert len(server.requests) == 3


def test_the_key_is_sent_as_it_is(server: CohereServer) -> None:
    embedder(server).embed_query("a question")
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_vectors_have_unit_length_and_the_order_of_the_texts(server: CohereServer) -> None:
    model = embedder(server)
    vectors = model.embed_documents(["steel bracket", "warm water", "steel bracket"])
    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1, 1, 1])
    assert vectors[0] == vectors[2] != vectors[1]


def test_a_request_has_at_most_96_texts(server: CohereServer) -> None:
    short = "our-own-model"  # seven numbers for each text; Cohere's SDK takes long for many
    vectors = embedder(server, short).embed_documents([f"text {n}" for n in range(200)])
    assert (len(vectors), [len(request.body["texts"]) for request in server.requests]) == (200, [96, 96, 8])


def test_a_text_that_is_too_long_is_cut_by_the_service(server: CohereServer) -> None:
    embedder(server).embed_query("robots see " * 2000)
    assert server.requests[0].body["truncate"] == "END"


def test_the_dimension_of_a_model_that_is_not_listed_is_learned_from_its_first_vector(server: CohereServer) -> None:
    model = embedder(server, "our-own-model")
    assert model.dimension == 0
    model.embed_query("a question")
    assert model.dimension == 7


def test_vectors_of_another_dimension_are_refused(server: CohereServer) -> None:
    model = embedder(server)
    server.dimension = 1536
    with pytest.raises(AskbookError, match=r"1536 dimensions for embed-english-v3\.0, which has 1024") as caught:
        model.embed_query("a question")
    assert (caught.value.error_type, caught.value.code) == ("retrieval_error", "embedding_dimension")


def float_vectors(*vectors: object) -> Reply:
    return reshaped(response_type="embeddings_by_type", embeddings={"float": list(vectors)})


@pytest.mark.parametrize(
    "reply",
    [
        malformed(),
        html(),
        data([]),
        reshaped(),
        reshaped(response_type="embeddings_floats", embeddings=[[1.0]], texts=["x"]),
        reshaped(response_type="embeddings_by_type", embeddings={}),
        float_vectors(),
        float_vectors([1.0] * 1024, [1.0] * 1024),
        float_vectors([0.0] * 1024),
        float_vectors([1e308] * 1024),
        float_vectors([10**400] * 1024),
        Reply(body="[" * 100_000),
        float_vectors(["a"] * 1024),
        float_vectors(None),
        float_vectors([1.0], [1.0, 2.0]),
        Reply(body='{"response_type": "embeddings_by_type", "id": "1", "embeddings": {"float": [[NaN, 1.0]]}}'),
    ],
)
def test_an_answer_that_is_no_vector_for_each_text_is_not_believed(server: CohereServer, reply: Reply) -> None:
    server.script.append(reply)
    model = embedder(server)
    with pytest.raises(AskbookError) as caught:
        model.embed_query("a question")
    assert (caught.value.code, caught.value.retryable) == ("embedding_bad_response", False)
    assert len(model.embed_query("a question")) == 1024


@pytest.mark.parametrize("status", [401, 408, 429, 500, 503])
def test_a_client_tries_once(server: CohereServer, status: int) -> None:
    server.faults["/"] = says(status, "no")
    with pytest.raises(AskbookError):
        embedder(server).embed_query("a question")
    assert len(server.requests) == 1


def test_a_service_that_hangs_is_given_up(server: CohereServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted, "TIMEOUT", 0.05)
    server.faults["/"] = hangs()
    with pytest.raises(AskbookError) as caught:
        embedder(server).embed_query("a question")
    assert (caught.value.code, caught.value.retryable) == ("embedding_timeout", True)


def test_a_service_that_is_not_there_is_named_by_its_host_alone() -> None:
    with nobody() as address:
        where = WireServer(address=address.replace("http://", "http://user:pw-canary@") + "/tenant-canary")
        with pytest.raises(AskbookError) as caught:
            embedder(where).embed_query("a question")
    assert caught.value.code == "embedding_unreachable"
    assert address.removeprefix("http://") in caught.value.message
    assert "canary" not in caught.value.message


def test_a_key_with_a_stray_character_is_refused_without_being_shown(server: CohereServer) -> None:
    for key in ("co-canary\n", "co-canäry"):
        settings = Settings(cohere_api_key=SecretStr(key), cohere_base_url=server.address)
        with pytest.raises(AskbookError, match="COHERE_API_KEY has a character that no key has") as caught:
            build_embedder(settings).embed_query("a question")
        assert "co-can" not in f"{caught.value.message} {caught.value.hint}"


def test_a_hosted_model_shows_no_key(server: CohereServer) -> None:
    model = embedder(server)
    model.embed_query("a question")
    assert KEY not in f"{model!r} {vars(model)}"


# --- OpenAI's wire format -------------------------------------------------------------------------------------------


@dataclass
class OpenAIEmbeddingServer(WireServer):
    prefix: str = "/v1"
    size: int = field(default=1536)

    def answer(self, request: Request) -> Reply:
        rows = [
            {"object": "embedding", "index": i, "embedding": [float(len(text))] + [1.0] * (self.size - 1)}
            for i, text in enumerate(request.body["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return data({"object": "list", "model": request.body["model"], "data": rows, "usage": usage})


@pytest.fixture
def openai() -> Iterator[OpenAIEmbeddingServer]:
    with listening(OpenAIEmbeddingServer()) as running:
        yield running


def openai_embedder(server: WireServer, model: str = "text-embedding-3-small") -> Embedder:
    settings = Settings(
        openai_api_key=SecretStr("sk-canary"), openai_base_url=server.address, embedding_model=Path(model)
    )
    return build_embedder(settings)


def test_openai_embeds_in_batches_with_its_key(openai: OpenAIEmbeddingServer) -> None:
    model = openai_embedder(openai)
    vectors = model.embed_documents(["x" * n for n in range(1, 101)])
    assert (len(vectors), len(vectors[0]), model.model_id) == (100, 1536, "text-embedding-3-small")
    assert [len(request.body["input"]) for request in openai.requests] == [96, 4]
    assert {request.headers["authorization"] for request in openai.requests} == {"Bearer sk-canary"}
    assert {request.path for request in openai.requests} == {"/v1/embeddings"}


def test_a_model_of_any_endpoint_with_that_wire_format_is_named_with_its_provider(
    openai: OpenAIEmbeddingServer,
) -> None:
    openai.size = 2560
    model = openai_embedder(openai, "openai:qwen/qwen3-embedding-4b")
    assert len(model.embed_query("a question")) == model.dimension == 2560
    assert openai.requests[0].body["model"] == model.model_id == "qwen/qwen3-embedding-4b"


@pytest.mark.parametrize(
    ("reply", "code", "retryable"),
    [
        (says(401, "sk-canary"), "embedding_wrong_key", False),
        (says(404, "sk-canary"), "embedding_model_not_found", False),
        (says(429, "sk-canary", retry_after="7"), "embedding_rate_limit", True),
        (says(500, "sk-canary"), "embedding_server_error", True),
        (malformed(), "embedding_bad_response", False),
        (html(), "embedding_bad_response", False),
        (data({"data": []}), "embedding_bad_response", False),
        (data({"object": "list"}), "embedding_bad_response", False),
        (data([1]), "embedding_bad_response", False),
    ],
)
def test_openai_fails_in_the_same_words(
    openai: OpenAIEmbeddingServer, reply: Reply, code: str, retryable: bool
) -> None:
    openai.faults["/"] = reply
    with pytest.raises(AskbookError) as caught:
        openai_embedder(openai).embed_query("a question")
    assert (caught.value.code, caught.value.retryable, len(openai.requests)) == (code, retryable, 1)
    assert "canary" not in f"{caught.value.message} {caught.value.hint}"
