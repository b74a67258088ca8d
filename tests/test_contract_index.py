"""One contract, run on every index: the embedded engine on a folder, and Qdrant in every way that it is reached."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from rag.book import IndexEntry, Matches, SearchFilter
from rag.errors import RetrievalError
from rag.ports import ChunkIndex
from tests import index_cases
from tests.index_cases import chunk_id, make_chunk, make_point, rankings, terms
from tests.index_kinds import COLLECTION, KINDS, opened

# A server needs the payload indexes; local mode says at each that it does without.
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")

INFO = replace(index_cases.INFO, collection=COLLECTION)
NORTH, EAST = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]


@pytest.fixture(params=KINDS)
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ChunkIndex]:
    async with opened(request.param, tmp_path) as made:
        yield made


def names(hits: object) -> list[str]:
    return [hit.chunk.source_file_path.removesuffix(".md") for hit in hits]  # type: ignore[attr-defined]


async def test_a_collection_that_does_not_exist_has_no_info_no_entries_and_no_chunks(index: ChunkIndex) -> None:
    assert await index.info() is None
    assert await index.entries() == []
    assert await index.fetch([chunk_id("a")]) == []


async def test_searching_a_collection_that_does_not_exist_says_how_to_make_one(index: ChunkIndex) -> None:
    with pytest.raises(RetrievalError) as caught:
        await rankings(index, [NORTH], limit=3)
    assert caught.value.code == "no_index"
    assert caught.value.message == f'There is no book in the collection "{COLLECTION}".'
    assert "run.py ingest" in caught.value.hint


async def test_info_says_who_encoded_the_collection_and_how_many_chunks_it_holds(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a"), make_point("b")], remove=[])
    assert await index.info() == replace(INFO, chunks=2)


async def test_a_chunk_comes_back_as_it_was_stored(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a")], remove=[])
    assert await index.fetch([chunk_id("a")]) == [make_chunk("a")]
    assert (await rankings(index, [NORTH], limit=1))[0][0].chunk == make_chunk("a")


async def test_unicode_survives_to_the_last_code_point(index: ChunkIndex) -> None:
    text = "naïve — “quoted” 中文 🤖 e\u0301 \u202eright to left\u202c\ttab\nline\x00"
    await index.replace(INFO, add=[make_point("ünï", text=text, url="https://book.example/ü/中")], remove=[])
    (chunk,) = await index.fetch([chunk_id("ünï")])
    assert chunk == make_chunk("ünï", text=text, url="https://book.example/ü/中")


async def test_optional_fields_of_a_chunk_stay_empty(index: ChunkIndex) -> None:
    point = make_point("a")
    bare = replace(point.chunk, chapter=None, page_number=None, anchor="", document_sha256="")
    await index.replace(INFO, add=[replace(point, chunk=bare)], remove=[])
    assert await index.fetch([bare.id]) == [bare]


async def test_a_dense_leg_ranks_by_cosine(index: ChunkIndex) -> None:
    await index.replace(
        INFO,
        add=[make_point("far", [0, 0, 1, 0]), make_point("near", [1, 1, 0, 0]), make_point("same", NORTH)],
        remove=[],
    )
    (hits,) = await rankings(index, [NORTH], limit=3)
    assert names(hits) == ["same", "near", "far"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, math.sqrt(0.5), 0.0], abs=1e-6)


async def test_a_sparse_leg_multiplies_the_inverse_document_frequencies_in(index: ChunkIndex) -> None:
    points = [make_point("rare", terms=[1, 2]), make_point("common", terms=[1]), make_point("third", terms=[1, 3])]
    await index.replace(INFO, add=points, remove=[])
    (hits,) = await rankings(index, [terms(1, 2)], limit=3)
    in_all, in_one = math.log(0.5 / 3.5 + 1), math.log(2.5 / 1.5 + 1)  # ln((N - n + 0.5) / (n + 0.5) + 1)
    assert [round(hit.score, 4) for hit in hits] == [
        round(in_all + in_one, 4),
        round(in_all, 4),
        round(in_all, 4),
    ]
    assert names(hits)[0] == "rare"


async def test_the_cosine_is_known_of_a_hit_that_only_its_words_found(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a", [1, 1, 0, 0], terms=[5]), make_point("b")], remove=[])
    _, (hit,) = await rankings(index, [NORTH, terms(5)], limit=1)
    assert hit.chunk == make_chunk("a")
    assert hit.scores == pytest.approx((math.sqrt(0.5), hit.score), abs=1e-6)


async def test_a_sparse_leg_finds_only_chunks_with_one_of_its_terms(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a", terms=[1]), make_point("b", terms=[2])], remove=[])
    assert [names(hits) for hits in await rankings(index, [terms(2), terms(9)], limit=5)] == [["b"], []]


FIELDS = (
    SearchFilter(title="Title of a"),
    SearchFilter(heading="In"),
    SearchFilter(file="a.md"),
    SearchFilter(chapter="Chapter 3"),
    SearchFilter(title="Title", chapter="Chapter 3"),
)


async def test_a_filter_on_a_field_lets_through_what_begins_so(index: ChunkIndex) -> None:
    own, other = make_point("a", terms=[1]), make_point("b", terms=[1])
    mine = replace(own.chunk, heading="Installation", source_file_path="a.md", chapter="Chapter 3: ROS")
    theirs = replace(other.chunk, heading="Use", source_file_path="b.md", chapter=None)
    own, other = replace(own, chunk=mine), replace(other, chunk=theirs)
    await index.replace(INFO, add=[own, other], remove=[])
    for where in FIELDS:
        found = await rankings(index, [NORTH, terms(1)], limit=5, where=where)
        assert [names(hits) for hits in found] == [["a"], ["a"]], where


async def test_several_legs_give_a_ranking_each_in_their_order(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("n", NORTH, terms=[1]), make_point("e", EAST, terms=[2])], remove=[])
    found = await rankings(index, [EAST, terms(1), NORTH, terms(2)], limit=1)
    assert [names(hits) for hits in found] == [["e"], ["n"], ["n"], ["e"]]


async def test_the_score_by_words_is_known_of_a_hit_that_only_its_meaning_found(index: ChunkIndex) -> None:
    points = [make_point("n", NORTH, terms=[1]), make_point("e", EAST, terms=[1, 2]), make_point("u", EAST, terms=[3])]
    await index.replace(INFO, add=points, remove=[])
    (deep,) = await rankings(index, [terms(1, 2)], limit=3)
    dense, sparse = await rankings(index, [NORTH, terms(1, 2)], limit=1)
    assert (names(dense), names(sparse)) == (["n"], ["e"])
    assert [hit.scores[1] for hit in (*sparse, *dense)] == pytest.approx([hit.score for hit in deep])


async def test_a_hit_that_shares_no_term_has_a_score_by_words_of_zero(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("n", NORTH, terms=[1]), make_point("e", EAST, terms=[2])], remove=[])
    dense, *sparse = await rankings(index, [NORTH, terms(2), terms()], limit=1)
    assert [names(hits) for hits in (dense, *sparse)] == [["n"], ["e"], []]
    assert dense[0].scores == pytest.approx((1.0, 0.0, 0.0))
    assert sparse[0][0].scores == pytest.approx((0.0, sparse[0][0].score, 0.0))


async def test_the_words_of_prose_of_each_hit_are_known(index: ChunkIndex) -> None:
    texts = {"a": "Four words of prose.", "b": "```\ncode counts as sixty\n```", "c": "word " * 300}
    points = [make_point(name, text=text) for name, text in texts.items()]
    await index.replace(INFO, add=points[:1], remove=[])
    await index.replace(INFO, add=points[1:], remove=[])

    def rank(matches: Matches) -> dict[str, float]:
        read = matches.read(range(3))
        assert [chunk.id for chunk in read] == sorted(chunk.id for chunk in read)
        return {chunk.source_file_path: count for chunk, count in zip(read, matches.prose, strict=True)}

    assert await index.search([NORTH], rank, limit=5) == {"a.md": 4, "b.md": 60, "c.md": 255}


async def test_the_empty_sparse_vector_of_stop_words_finds_nothing(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a")], remove=[])
    assert [names(hits) for hits in await rankings(index, [terms(), NORTH], limit=2)] == [[], ["a"]]
    assert await rankings(index, [terms()], limit=2) == [[]]


async def test_no_leg_and_no_limit_find_nothing(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a")], remove=[])
    assert await rankings(index, [], limit=2) == []
    assert await rankings(index, [NORTH], limit=0) == [[]]


PREFIXES: dict[str, set[str]] = {
    "": {"a", "b", "c", "d"},
    "https://book.example/": {"a", "b", "c"},
    "https://book.example/en/in": {"a"},  # any prefix of the text, not of the path's parts
    "https://book.example/en/install": {"a"},
    "HTTPS://book.example/": set(),  # letter for letter
    "book.example": set(),  # from the start
    "https://book.example/ü b": {"c"},
    "guide/": {"d"},
    "https://book.example/en/install/more": set(),
}


async def test_a_url_prefix_lets_through_exactly_the_urls_that_start_with_it(index: ChunkIndex) -> None:
    points = [
        make_point("a", url="https://book.example/en/install"),
        make_point("b", url="https://book.example/EN/install"),
        make_point("c", url="https://book.example/ü b?x=1"),
        make_point("d", url="guide/install.md"),
    ]
    await index.replace(INFO, add=points, remove=[])
    for prefix, found in PREFIXES.items():
        dense, sparse = await rankings(index, [NORTH, terms(1)], limit=9, where=SearchFilter(url_prefix=prefix))
        assert set(names(dense)) == found, prefix
        assert set(names(sparse)) == found, prefix


async def test_fetch_keeps_the_order_asked_for_and_leaves_unknown_ids_out(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a"), make_point("b")], remove=[])
    wanted = [chunk_id("b"), chunk_id("none"), "no uuid", chunk_id("a"), chunk_id("b")]
    assert [chunk.id for chunk in await index.fetch(wanted)] == [chunk_id("b"), chunk_id("a"), chunk_id("b")]


async def test_entries_tell_what_planning_an_ingestion_needs(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a"), make_point("b", source="site")], remove=[])
    found = {entry.id: entry for entry in await index.entries()}
    assert found[chunk_id("b")] == IndexEntry(
        chunk_id("b"), "site", "b.md", "d" * 64, make_chunk("b", source="site").sha256
    )
    assert len(found) == 2


async def test_entries_go_beyond_the_first_page(index: ChunkIndex) -> None:
    await index.replace(INFO, add=(make_point(f"p{i}") for i in range(1100)), remove=[])
    assert len({entry.id for entry in await index.entries()}) == 1100


async def test_replace_adds_overwrites_and_removes_as_one_change(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("keep"), make_point("old"), make_point("gone")], remove=[])
    await index.replace(
        INFO,
        add=[make_point("old", EAST, text="New text."), make_point("new", EAST)],
        remove=[chunk_id("gone"), chunk_id("never was")],
    )
    assert {entry.source_file_path for entry in await index.entries()} == {"keep.md", "old.md", "new.md"}
    assert [chunk.text for chunk in await index.fetch([chunk_id("old")])] == ["New text."]
    assert set(names((await rankings(index, [EAST], limit=2))[0])) == {"old", "new"}


async def test_a_chunk_both_added_and_removed_is_there(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a")], remove=[])
    await index.replace(INFO, add=[make_point("a", text="Second.")], remove=[chunk_id("a")])
    assert [chunk.text for chunk in await index.fetch([chunk_id("a")])] == ["Second."]


async def test_chunks_that_stay_keep_their_vectors(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a", [3, 1, 4, 1], terms=[7])], remove=[])
    before = await rankings(index, [NORTH], limit=1)
    for i in range(3):
        await index.replace(INFO, add=[make_point(f"p{i}", EAST, terms=[8])], remove=[])
    assert await rankings(index, [NORTH], limit=1) == before
    assert names((await rankings(index, [terms(7)], limit=1))[0]) == ["a"]


async def test_a_collection_may_be_empty(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[], remove=[])
    assert await index.info() == INFO
    assert await rankings(index, [NORTH, terms(1)], limit=3) == [[], []]
    assert await index.entries() == []


async def test_everything_may_be_removed(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a")], remove=[])
    await index.replace(INFO, add=[], remove=[chunk_id("a")])
    assert await index.info() == INFO


async def test_a_change_by_another_model_is_refused_while_chunks_of_the_first_would_stay(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a"), make_point("b")], remove=[])
    with pytest.raises(RetrievalError) as caught:
        await index.replace(replace(INFO, embedding_model="other"), add=[make_point("b")], remove=[])
    assert caught.value.code == "embedding_mismatch"
    assert len(await index.entries()) == 2


async def test_a_change_by_another_recipe_is_refused_while_chunks_of_the_first_would_stay(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a"), make_point("b")], remove=[])
    with pytest.raises(RetrievalError, match='by the recipe "", not by "another"'):
        await index.replace(replace(INFO, recipe="another"), add=[make_point("b")], remove=[])


async def test_another_model_may_replace_every_chunk(index: ChunkIndex) -> None:
    await index.replace(INFO, add=[make_point("a"), make_point("b")], remove=[])
    other = replace(INFO, embedding_model="other", sparse_model="another")
    await index.replace(other, add=[make_point("b")], remove=[chunk_id("a")])
    assert await index.info() == replace(other, chunks=1)


async def test_a_collection_that_is_dropped_is_gone_and_can_be_made_again(index: ChunkIndex) -> None:
    await index.drop()
    await index.replace(INFO, add=[make_point("a")], remove=[])
    await index.drop()
    assert await index.info() is None
    await index.replace(INFO, add=[make_point("b")], remove=[])
    assert [entry.id for entry in await index.entries()] == [chunk_id("b")]
