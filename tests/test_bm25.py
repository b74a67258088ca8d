from __future__ import annotations

import pytest

from rag.embedding.local import Bm25Encoder


@pytest.fixture(scope="module")
def encoder() -> Bm25Encoder:
    return Bm25Encoder()


def test_the_id_names_the_encoder_its_language_and_its_version(encoder: Bm25Encoder) -> None:
    assert encoder.model_id == "qdrant-edge-bm25-english-0.9"


def test_the_version_in_the_id_is_the_installed_engines() -> None:
    from importlib.metadata import version

    assert version("qdrant-edge-py").startswith("0.9.")


@pytest.mark.parametrize("text", ["", "   ", "the and of", "🤖"])
def test_a_text_without_terms_has_an_empty_vector(encoder: Bm25Encoder, text: str) -> None:
    assert list(encoder.encode_query(text).indices) == list(encoder.encode_document(text).indices) == []


def test_forms_of_a_word_are_one_term(encoder: Bm25Encoder) -> None:
    assert encoder.encode_query("installing") == encoder.encode_query("Installed") == encoder.encode_query("INSTALLS")


def test_each_term_of_a_query_counts_once_and_one(encoder: Bm25Encoder) -> None:
    assert encoder.encode_query("robot robot robots").values == [1.0]


def test_repeating_a_term_in_a_document_counts_more_but_less_each_time(encoder: Bm25Encoder) -> None:
    once, twice, often = (encoder.encode_document("robot " * n).values[0] for n in (1, 2, 3))
    assert once < twice < often
    assert often - twice < twice - once


def test_document_and_query_share_their_terms(encoder: Bm25Encoder) -> None:
    document = encoder.encode_document("The robot walks to the charging station.")
    assert set(encoder.encode_query("walking robots").indices) <= set(document.indices)


def test_indices_are_unique_and_ascending(encoder: Bm25Encoder) -> None:
    indices = list(encoder.encode_document("one two three one two four five x86_64 C++ naïve 中文 don't").indices)
    assert indices == sorted(set(indices))


def test_a_name_of_several_words_is_a_term_of_its_own() -> None:
    encoder = Bm25Encoder()
    name = set(encoder.encode_query("UV_INDEX_URL").indices)
    held = set(encoder.encode_document("Set the variable `UV_INDEX_URL`.").indices)
    split = set(encoder.encode_document("The index of uv has a URL.").indices)
    assert name <= held
    assert len(name - split) == 1
    assert encoder.encode_query("--index-url").indices != encoder.encode_query("index url").indices
    assert encoder.encode_query("a well-known name").indices == encoder.encode_query("a well known name").indices


def test_a_version_is_a_term_of_its_own_and_of_the_versions_it_belongs_to(encoder: Bm25Encoder) -> None:
    def shared(asked: str, written: str) -> int:
        query, document = encoder.encode_query(asked), encoder.encode_document(written)
        return len(set(query.indices) & set(document.indices))

    assert shared("0.18.0", "v0.18.0") > shared("0.18.0", "0.18.1") > shared("0.18.0", "0.8.0")
    assert shared("2.5", "2.5.3") > shared("2.5", "5.2")
