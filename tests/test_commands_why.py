from __future__ import annotations

from cli.commands import checked_line, judged_line, why_lines
from rag.types import Candidate, Grounding, Opinion, Outcome, Trace


def candidate(name: str, outcome: Outcome) -> Candidate:
    return Candidate(name, f"Title of {name}", "", 0.5, (0.5, 2.0, 0.25), 0.75, outcome)


def lines(*candidates: Candidate) -> list[str]:
    queries = ("Why?", "Why? What is a node?\n\x1b[31m" + "x" * 200)
    trace = Trace(queries, ("question", "context"), (1.0, 0.4), ("dense", "sparse", "dense"), 0.2, candidates)
    return list(why_lines(trace.as_data()))


def test_every_query_is_told_with_its_weight_on_one_printable_line() -> None:
    raw, context, *_ = lines()
    assert raw == "  weight 1.00  Why?"
    assert context.startswith("  weight 0.40  Why? What is a node? ")
    assert "\x1b" not in context
    assert len(context) < 130


def test_the_scores_are_named_in_the_order_of_the_legs() -> None:
    assert lines()[2] == "  scores    cosine, BM25, cosine in context 1; threshold 0.2"


def test_a_rewrite_is_told_as_one() -> None:
    trace = Trace(("Why?", "Why a node?"), ("question", "rewrite"), (1.0, 0.6), ("dense", "sparse", "dense"), 0.2, ())
    _, rewrite, scores = why_lines(trace.as_data())
    assert rewrite == "  weight 0.60  rewritten: Why a node?"
    assert scores == "  scores    cosine, BM25, cosine of the rewrite; threshold 0.2"


def test_a_candidate_is_told_with_its_sum_its_score_its_legs_and_its_fate() -> None:
    *_, kept, dropped = lines(candidate("a", "kept"), candidate("b", "below_threshold"))
    assert kept == "   1. sum 0.750  score 0.500  (0.500  2.000  0.250)  Title of a"
    assert dropped.endswith("Title of b: below the threshold")


def test_only_the_first_few_that_were_not_used_are_told() -> None:
    found = [candidate("a", "kept"), *(candidate(f"b{i}", "beyond_k") for i in range(30))]
    assert len(lines(*found)) == 3 + 1 + 5


def test_what_the_check_and_the_judge_found_is_told() -> None:
    counts = Grounding(sentences=5, supported=3, removed=2)
    assert checked_line(counts) == "5 sentences, 3 supported, 0 unconfirmed, 2 removed"
    judge = Opinion(model="gpt", sentences=4, confirmed=3, removed=1, calls=2, milliseconds=812.4)
    assert judged_line(judge) == "gpt: 2 calls, 4 sentences, 3 confirmed, 1 rejected, 812 ms"
    assert judged_line(Opinion(model="gpt")) == "gpt: no call, since nothing was doubtful"
