"""The vectors that come with the program: those of the manual as it is, and a cache behind them for the rest."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.embedding.vector_cache import ShippedVectors, read_vectors, text_key
from rag.index.catalog import build_index
from rag.index.locks import WAIT, folder_lock
from rag.ingest.manual import DOCS, VECTORS, index_manual
from rag.services import build_services
from rag.settings import Settings
from tests.manual_vectors import packaged_pages, write_vectors


class Behind:
    """A cache that knows one text and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.kept: dict[str, list[float]] = {"other": [0.0, 1.0]}

    def get(self, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        self.asked += texts
        return {text: self.kept[text] for text in texts if text in self.kept}

    def put(self, model_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        self.kept |= {text: list(vector) for text, vector in vectors.items()}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "vectors.txt"
    write_vectors(written, "model", {text_key("one"): [0.6, 0.8], text_key("two"): [1.0, 0.0]})
    return written


def test_what_the_file_has_is_not_asked_of_the_cache_behind(file: Path) -> None:
    behind = Behind()
    found = ShippedVectors(file, behind).get("model", ["one", "other", "none"])
    assert found["one"] == pytest.approx([0.6, 0.8], abs=0.001)
    assert (found["other"], set(found), behind.asked) == ([0.0, 1.0], {"one", "other"}, ["other", "none"])


def test_the_vectors_of_another_model_are_not_taken(file: Path) -> None:
    assert ShippedVectors(file, Behind()).get("another", ["one", "other"]) == {"other": [0.0, 1.0]}


def test_a_vector_that_is_made_goes_to_the_cache_behind(file: Path) -> None:
    behind = Behind()
    ShippedVectors(file, behind).put("model", {"new": [1.0]})
    assert behind.kept["new"] == [1.0]


def test_a_vector_that_is_read_has_unit_length(file: Path) -> None:
    assert [math.hypot(*one) for one in read_vectors(file, "model").values()] == pytest.approx([1.0, 1.0], abs=1e-6)


class Shipped(ShippedVectors):
    """The vectors that come with the program, with nothing behind them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.behind = Behind()
        super().__init__(VECTORS, self.behind)

    def get(self, model_id: str, texts: Sequence[str]) -> dict[str, list[float]]:
        self.texts += texts
        return super().get(model_id, texts)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    """What was asked when the manual was indexed, as the checkout has it and as the package has it."""
    vectors = Shipped()
    for pages in (DOCS, packaged_pages(tmp_path_factory.mktemp("packaged"))):
        index = build_index(home=tmp_path_factory.mktemp("home"), collection="manual")
        asyncio.run(index_manual(index, OnnxEmbeddings(), Bm25Encoder(), vectors, pages=pages))
        asyncio.run(index.aclose())
    return vectors


def test_the_manual_as_it_is_needs_no_embedding(indexed: Shipped) -> None:
    """Where this fails, a page of docs/ has changed: `make manual` embeds it."""
    assert len(indexed.texts) > 300
    assert indexed.behind.asked == []


def test_the_file_has_no_vectors_of_pages_as_they_were(indexed: Shipped) -> None:
    assert set(read_vectors(VECTORS, OnnxEmbeddings().model_id)) == {text_key(text) for text in indexed.texts}


@pytest.mark.usefixtures("every_vector_is_made")
def test_the_shipped_vectors_are_those_that_the_model_makes(indexed: Shipped) -> None:
    model, texts = OnnxEmbeddings(), list(dict.fromkeys(indexed.texts))[::25]
    shipped = indexed.get(model.model_id, texts)
    for text, vector in zip(texts, model.embed_documents(texts), strict=True):
        assert sum(a * b for a, b in zip(vector, shipped[text], strict=True)) > 0.999


class StartedError(Exception):
    """The ingestion was started."""


async def _not_now(*_: object, **__: object) -> None:
    raise StartedError


async def test_a_manual_that_has_not_changed_is_not_ingested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "page.md").write_text("# Widgets\n\nA widget is a small part that turns a shaft.\n")
    monkeypatch.setattr("rag.ingest.manual.DOCS", docs)
    index, embedder, sparse = build_index(home=tmp_path, collection="manual"), OnnxEmbeddings(), Bm25Encoder()

    async def start() -> None:
        await index_manual(index, embedder, sparse, Behind(), stamp=tmp_path / "stamp")

    await start()
    monkeypatch.setattr("rag.ingest.ingestion.Ingestion.run", _not_now)
    await start()
    (docs / "page.md").write_text("# Widgets\n\nA widget is a large part that turns a shaft.\n")
    with pytest.raises(StartedError):
        await start()
    (docs / "page.md").write_text("# Widgets\n\nA widget is a small part that turns a shaft.\n")
    await start()
    await index.drop()
    with pytest.raises(StartedError):
        await start()
    await index.aclose()


async def test_processes_that_start_at_once_wait_for_the_one_that_indexes_the_manual(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    other = build_index(home=tmp_path, collection="manual")
    with folder_lock(tmp_path / "index", "manual", seconds=1):
        starting = asyncio.gather(*[build_services(settings) for _ in range(2)])
        await asyncio.sleep(WAIT + 1)  # longer than a change waits for another one
        assert not starting.done()
    for services in await starting:
        assert await services.index.info() == await other.info() is not None
        await services.aclose()
