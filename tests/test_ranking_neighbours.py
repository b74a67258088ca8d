"""Which passages come on top of the best ones since they stand beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rag.book import Candidate, Chunk, Outcome
from rag.profiles.effective_values import effective
from rag.profiles.profile import load_profile
from rag.search.ranking import AMONG, BESIDE, joined
from rag.services import open_services
from rag.settings import Settings
from tests.index_cases import make_point

Row = tuple[str, int, Outcome]
FIRST: Row = ("a", 4, "kept")


def stand(*rows: Row, most: int = 3, text: str = "") -> list[str]:
    """The pages and places of what is joined; a row is a page, the place on it and what became of it so far."""
    chunks: dict[str, Chunk] = {}
    found = []
    for page, place, outcome in rows:
        point = make_point(f"{page}{place}", text=text or f"What {page} says at {place}.").chunk
        chunk = replace(point, url=page, source_file_path=page, chunk_index=place)
        chunks[chunk.id] = chunk
        found.append(Candidate(chunk.id, chunk.title, "", 0.5, (0.5,), 0.5, outcome))
    result = joined(found, chunks, most)
    assert [one.chunk_id for one in result] == [one.chunk_id for one in found]
    places = {chunk.id: f"{chunk.url}{chunk.chunk_index}" for chunk in chunks.values()}
    return [places[one.chunk_id] for one in result if one.outcome == "neighbour"]


def test_what_stands_before_or_after_a_good_passage_on_its_page_is_joined() -> None:
    assert stand(FIRST, ("a", 3, "beyond_k"), ("a", 6, "beyond_k"), ("b", 5, "beyond_k"), ("a", 5, "beyond_k")) == [
        "a3",
        "a5",
    ]


def test_what_did_not_pass_the_gate_is_not_joined() -> None:
    assert stand(FIRST, ("a", 5, "below_threshold"), ("a", 3, "duplicate")) == []


def test_at_most_so_many_are_joined_the_better_ones() -> None:
    assert stand(FIRST, ("a", 5, "beyond_k"), ("a", 3, "beyond_k"), most=1) == ["a5"]
    assert stand(FIRST, ("a", 5, "beyond_k"), most=0) == []


def test_only_the_best_passages_bring_neighbours() -> None:
    others: list[Row] = [(page, 1, "kept") for page in "bcd"]
    assert stand(FIRST, *others, ("d", 2, "beyond_k"), ("b", 2, "beyond_k")) == ["b2"]
    assert BESIDE == 2


def test_a_neighbour_that_the_search_has_found_far_down_is_not_joined() -> None:
    between: list[Row] = [("b", 3 * number, "beyond_k") for number in range(AMONG - 1)]
    assert stand(FIRST, *between, ("a", 5, "beyond_k")) == []


def test_what_says_the_same_as_a_passage_that_is_shown_is_not_joined() -> None:
    assert stand(FIRST, ("a", 5, "beyond_k"), text="The same words in both of them.") == []


def test_a_count_that_is_given_is_not_exceeded() -> None:
    profile = load_profile("default")
    assert profile.retrieval.neighbours > 0
    assert profile.overridden(top_k=5).retrieval.neighbours == 0
    assert profile.overridden(score_threshold=0.3).retrieval.neighbours == profile.retrieval.neighbours


def test_a_count_in_the_environment_is_told_to_leave_none() -> None:
    settings = Settings(AGENT_TOP_K=4)  # type: ignore[call-arg]  # by variable
    told = {one.key: (one.value, one.source) for one in effective("default", settings)}
    assert told["retrieval.neighbours"] == (0, "environment variable AGENT_TOP_K")


async def test_the_answerer_that_quotes_has_the_best_passages_alone(tiny_book: Path) -> None:
    settings = Settings(ASKBOOK_HOME=tiny_book)  # type: ignore[call-arg]  # by variable
    async with open_services(settings) as services:
        assert services.parts("default").quotes
        assert services.parts("default").profile.retrieval.neighbours == 0
