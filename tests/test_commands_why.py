"""`/why`: one sentence for a person, then queries, candidates, checks and times in columns."""

from __future__ import annotations

import io
from typing import Any

import pytest

from cli.terminal import console
from cli.why import checked_line, judged_line, leg_names, print_why, summary
from rag.book import Candidate, Outcome, SearchQuery, Trace
from rag.errors import AskbookError
from rag.types import Grounding, JudgeTotals, Response, RetrievedChunk

FOUND = RetrievedChunk(rank=1, score=0.71, chunk_id="c", url="u", title="Install", heading="Python versions")
BEST = 'The best passage, "Python versions", scored 0.71'


def candidate(name: str, outcome: Outcome) -> Candidate:
    return Candidate(name, f"Title of {name}", "", 0.5, (0.5, 2.0, 0.25), 0.75, outcome)


def trace(*candidates: Candidate) -> dict[str, Any]:
    context = SearchQuery("context", "Why? What is a node?\n\x1b[31m" + "x" * 200, 0.4)
    found = Trace((SearchQuery("question", "Why?"), context), ("dense", "sparse", "dense"), 0.2, candidates)
    return found.as_data()


def response(**fields: Any) -> Response:
    given = {"retrieved_chunks": [FOUND], "status": "success", "content": "c", "plain_content": "c"} | fields
    return Response(request_id="r", thread_id="t", turn_number=1, profile="default", model="m", **given)


def lines(found: dict[str, Any], width: int = 100) -> list[str]:
    file = io.StringIO()
    print_why(console(file=file, width=width), response(), found, 0.2)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def error() -> Any:
    return AskbookError("api_error", "server", "The service is down.").info()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"grounding": Grounding(sentences=2, supported=2)}, f"{BEST}; all sentences were confirmed."),
        (
            {"grounding": Grounding(sentences=4, supported=1, unconfirmed=2, removed=1)},
            f"{BEST}; 2 sentences could not be confirmed and 1 sentence removed.",
        ),
        ({"fallback_reason": "model_refused"}, f"{BEST}, but no passage was found to answer the question."),
        ({"fallback_reason": "unconfirmed"}, f"{BEST}, but no sentence of the answer could be confirmed."),
        ({"fallback_reason": "smalltalk"}, "This was taken for small talk, so the book was not searched."),
        (
            {"fallback_reason": "smalltalk", "llm_calls": 1},
            "The model took this for small talk: its answer only greets or thanks.",
        ),
        ({"error": error()}, "There is no answer, because the turn failed: The service is down."),
        (
            {"fallback_reason": "no_passage"},
            'No passage reached the score of 0.20 that is needed; the best, "Title of a", scored 0.50.',
        ),
    ],
)
def test_one_sentence_says_to_a_person_what_happened(fields: dict[str, Any], said: str) -> None:
    assert summary(response(**fields), trace(candidate("a", "below_threshold")), 0.2) == said


def test_every_query_is_told_with_its_weight_on_one_printable_line() -> None:
    weights = [line for line in lines(trace()) if "  0.40  " in line or "  1.00  " in line]
    assert weights[0] == "weight    1.00  Why?"
    assert weights[1].startswith("          0.40  Why? What is a node?")
    assert "\x1b" not in weights[1]


def test_the_scores_are_named_in_the_order_of_the_legs() -> None:
    assert list(leg_names(["question", "context", "rewrite"])) == ["cosine", "BM25", "context 1", "rewrite"]


def test_a_candidate_is_told_with_its_sum_its_score_its_legs_and_its_fate() -> None:
    shown = lines(trace(candidate("a", "kept"), candidate("b", "below_threshold")))
    head = next(place for place, line in enumerate(shown) if "BM25" in line)
    assert shown[head].split() == ["score", "sum", "cosine", "BM25", "context", "1", "passage"]
    assert shown[head + 1].split() == ["1", "0.50", "0.75", "0.50", "2.00", "0.25", "Title", "of", "a"]
    assert shown[head + 2].endswith("Title of b (below the threshold)")


def test_only_the_first_few_that_were_not_used_are_told() -> None:
    found = [candidate("a", "kept"), *(candidate(f"b{i}", "beyond_k") for i in range(15))]
    assert sum("Title of" in line for line in lines(trace(*found))) == 1 + 5


def test_nothing_is_wider_than_a_narrow_terminal() -> None:
    assert max(map(len, lines(trace(candidate("a", "kept"), candidate("b", "neighbour")), width=40))) <= 40


def test_what_the_check_and_the_judge_found_is_told() -> None:
    counts = Grounding(sentences=5, supported=3, removed=2)
    assert checked_line(counts) == "5 sentences, 3 supported, 0 unconfirmed, 2 removed"
    judge = JudgeTotals(model="gpt", sentences=4, confirmed=3, removed=1, calls=2, milliseconds=812.4)
    assert judged_line(judge) == "gpt: 2 calls, 4 sentences, 3 confirmed, 1 rejected, 812 ms"
    assert judged_line(JudgeTotals(model="gpt")) == "gpt: no call, since no sentence had to be judged"
