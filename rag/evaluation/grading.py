"""The grades of an answer: what was found, shown and cited for its question, and whether it is right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import Field

from rag.book import Candidate
from rag.evaluation.dataset import Conversation, Labels, Place
from rag.quoting.terms import keys
from rag.types import Record, Response

DEPTH: Final = 20  # passages of a ranking
_SHOWN_CHARACTERS: Final = 4_000  # of an answer in the records


class RankedPassage(Record):
    """A passage of a ranking, and the positions of the `relevant` labels that it matches.

    `outcome` is "shown", or why the answer could not use it: "below_threshold", "beyond_k", "duplicate".
    """

    chunk_id: str
    page: str
    title: str
    heading: str
    score: float
    outcome: str
    relevant: list[int] = Field(default_factory=list)


class GradedAnswer(Record):
    """One graded question. Fields are None where the labels say nothing about them.

    `right` is an answer on the right page that matches the pattern, or a refusal of a question without an answer.
    `wanted` counts the relevant labels; `standalone_relevant` has, for each passage found for the question written out,
    the labels that it matches.
    """

    conversation: str
    line: int
    turn: int
    kind: str
    question: str
    answerable: bool
    follow_up: bool
    status: str
    fallback_reason: str | None
    refused: bool
    right: bool
    page_cited: bool | None
    citation_precision: float | None
    citation_recall: float | None
    answer_matches: bool | None
    overlap: float | None
    threshold: float
    best_score: float | None
    ranking: list[RankedPassage]
    wanted: int
    standalone_relevant: list[list[int]] | None
    sentences: int
    supported: int
    unconfirmed: int
    contradicted: int
    tokens: int
    llm_calls: int
    first_sentence_ms: float | None
    total_ms: float
    answer: str
    citations: list[str] = Field(default_factory=list)
    error: str | None = None


class CitationGrades(NamedTuple):
    """Whether the citations of an answer are the right ones, as in `GradedAnswer`, and the pages that they name."""

    page_cited: bool | None
    citation_precision: float | None
    citation_recall: float | None
    citations: list[str]


def ranking_of(
    response: Response, candidates: Sequence[Candidate], places: Mapping[str, Place], labels: Labels
) -> list[RankedPassage]:
    """What was found for a question, best first: the passages that were shown, then the other candidates."""
    shown = {chunk.chunk_id: chunk for chunk in response.retrieved_chunks}
    rest = [one for one in candidates if one.chunk_id not in shown]
    hits = [(one.chunk_id, one.title, one.heading, one.score, "shown") for one in shown.values()]
    hits += [(one.chunk_id, one.title, one.heading, one.cosine, str(one.outcome)) for one in rest]
    found = []
    for chunk_id, title, heading, score, outcome in hits[:DEPTH]:
        place = places.get(chunk_id)
        found.append(
            RankedPassage(
                chunk_id=chunk_id,
                page=(place.link or place.file) if place else "",
                title=title,
                heading=heading,
                score=round(max(0.0, min(1.0, score)), 6),
                outcome=outcome,
                relevant=labels.found_at(place) if place else [],
            )
        )
    return found


def grade(
    conversation: Conversation,
    turn: int,
    response: Response,
    ranking: list[RankedPassage],
    *,
    refusal: str,
    threshold: float,
    standalone_relevant: list[list[int]] | None = None,
) -> GradedAnswer:
    """The grades of the response to the question `turn`, from 1, by the profile's refusal sentence and `threshold`."""
    labels = conversation.questions[turn - 1].labels or Labels()
    refused = response.plain_content.strip() == refusal.strip()
    citations = citation_grades(response, labels)
    matched = bool(re.search(labels.answer, response.plain_content)) if labels.answer is not None else None
    answered = response.status == "success" and citations.page_cited is not False and matched is not False
    return GradedAnswer(
        answerable=labels.answerable,
        status=response.status,
        fallback_reason=response.fallback_reason,
        refused=refused,
        right=answered if labels.answerable else refused,
        answer_matches=matched,
        overlap=overlap(labels.reference, response.plain_content) if labels.reference else None,
        threshold=threshold,
        best_score=max((hit.score for hit in ranking), default=None),
        ranking=ranking,
        wanted=len(labels.relevant) if labels.answerable else 0,
        standalone_relevant=standalone_relevant,
        answer=response.content[:_SHOWN_CHARACTERS],
        error=f"{response.error.error_type}/{response.error.code}" if response.error else None,
        **_question_fields(conversation, turn),
        **citations._asdict(),
        **_sentence_counts(response),
        **_costs(response),
    )


def _question_fields(conversation: Conversation, turn: int) -> dict[str, Any]:
    """What was asked, and where in the dataset."""
    return {
        "conversation": conversation.id,
        "line": conversation.line,
        "turn": turn,
        "kind": conversation.kind,
        "question": conversation.questions[turn - 1].text,
        "follow_up": turn > 1 or bool(conversation.history),
    }


def citation_grades(response: Response, labels: Labels) -> CitationGrades:
    """The grades of a response's citations by the labels of its question."""
    cited = [Place(c.chunk_id, c.url.partition("#")[0], c.url, c.source_file_path) for c in response.citations]
    found = [labels.found_at(place) for place in cited]  # the labels that each citation matches
    labelled = labels.answerable and bool(labels.relevant)
    return CitationGrades(
        page_cited=any(map(labels.is_right_page, cited)) if labelled else None,
        citation_precision=sum(map(bool, found)) / len(cited) if labelled and cited else None,
        citation_recall=len({n for each in found for n in each}) / len(labels.relevant) if labelled else None,
        citations=[one.link or one.file for one in cited],
    )


def _sentence_counts(response: Response) -> dict[str, Any]:
    """How many sentences state something, and how many have each standing."""
    standings = Counter(sentence.standing for sentence in response.grounding.checked)
    counts = {name: standings[name] for name in ("supported", "unconfirmed", "contradicted")}
    return {"sentences": standings.total() - standings["frame"], **counts}


def _costs(response: Response) -> dict[str, Any]:
    """The tokens, the calls and the times of a response."""
    return {
        "tokens": response.tokens_used.total,
        "llm_calls": response.llm_calls,
        "first_sentence_ms": response.timings_ms.first_token,
        "total_ms": response.timings_ms.total,
    }


def overlap(reference: str, answer: str) -> float:
    """How far an answer has the words of a reference: the F1 of their terms (as SQuAD's F1, but of stems, each once).

    >>> overlap("The gate is closed.", "The gate is closed.")
    1.0
    >>> overlap("The gate is closed.", "Bread")
    0.0
    """
    wanted, found = _stems(reference), _stems(answer)
    common = len(wanted & found)
    return round(2 * common / (len(wanted) + len(found)), 6) if common else 0.0


def _stems(text: str) -> frozenset[str]:
    return frozenset(key for key in keys(text) if not key.startswith("="))
