"""`/why`: how the last answer was found and checked, in one sentence and then in columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from cli.terminal import clipped, in_line, printable
from rag.text.counting import counted
from rag.types import Grounding, JudgeTotals, Response

if TYPE_CHECKING:
    from rich.console import Console

_OUTCOMES: Final = {
    "kept": "",
    "neighbour": "neighbour of a better one",
    "below_threshold": "below the threshold",
    "duplicate": "duplicate of a better one",
    "beyond_k": "ranked too low",
}
_UNUSED_SHOWN: Final = 5  # candidates that are shown after the used ones
_QUERY: Final = 100  # characters of a query


def print_why(
    screen: Console, response: Response, trace: Mapping[str, Any] | None, threshold: float, *, stored: bool = False
) -> None:
    """The sentence, the searches, the candidates of the first search, the checks, the calls and the times.

    `stored` is for an answer that was read from its conversation, which keeps neither candidates nor checks nor times.
    """
    from rich.text import Text

    screen.print(Text(summary(response, trace, threshold, stored=stored)))
    screen.print()
    _print_fields(screen, [*_searches(response, trace, threshold)])
    if trace and trace["candidates"]:
        screen.print()
        _print_candidates(screen, trace)
    screen.print()
    _print_fields(screen, [*(_kept(response) if stored else _findings(response))])


def summary(response: Response, trace: Mapping[str, Any] | None, threshold: float, *, stored: bool = False) -> str:
    """What happened, in a sentence for a person."""
    if response.error is not None:
        return f"There is no answer, because the turn failed: {response.error.message}"
    if response.fallback_reason == "smalltalk":
        if response.llm_calls:
            return "The model took this for small talk: its answer only greets or thanks."
        return "This was taken for small talk, so the book was not searched."
    if response.fallback_reason == "no_passage":
        return _nothing_found(trace, threshold)
    best = max(response.retrieved_chunks, key=lambda chunk: chunk.score, default=None)
    if best is None:
        return "The answer needed no passage of the book."
    found = f'The best passage, "{_name(best.heading, best.title)}", scored {best.score:.2f}'
    if response.fallback_reason == "model_refused":
        return f"{found}, but no passage was found to answer the question."
    if response.fallback_reason == "unconfirmed":
        return f"{found}, but no sentence of the answer could be confirmed."
    return f"{found}{'' if stored else _checks(response.grounding)}."


def _nothing_found(trace: Mapping[str, Any] | None, threshold: float) -> str:
    text = f"No passage reached the score of {threshold:.2f} that is needed"
    if not trace or not trace["candidates"]:
        return f"{text}."
    best = max(trace["candidates"], key=lambda candidate: candidate["cosine"])
    return f'{text}; the best, "{_name(best["heading"], best["title"])}", scored {best["cosine"]:.2f}.'


def _checks(grounding: Grounding) -> str:
    if grounding.mode == "off":
        return "; the answer was not checked"
    doubts = [
        f"{counted(number, 'sentence')} {what}"
        for number, what in ((grounding.unconfirmed, "could not be confirmed"), (grounding.removed, "removed"))
        if number
    ]
    if doubts:
        return f"; {' and '.join(doubts)}"
    return f"; {'the sentence was' if grounding.supported == 1 else 'all sentences were'} confirmed"


def _name(heading: str, title: str) -> str:
    return in_line(heading or title)


def _searches(response: Response, trace: Mapping[str, Any] | None, threshold: float) -> Iterator[tuple[str, str]]:
    for search in response.retrievals:
        yield "searched", in_line(search.query)
        found = (
            f"{counted(search.total_chunks_found, 'candidate')}, {search.results_count} used, threshold {threshold:g}"
        )
        yield "", found
    for query in trace["queries"] if trace else ():
        mark = "rewritten: " if query["kind"] == "rewrite" else ""
        text = clipped(" ".join(printable(query["text"]).split()), _QUERY)
        yield ("weight" if query["kind"] == "question" else ""), f"{query['weight']:.2f}  {mark}{text}"


def _print_candidates(screen: Console, trace: Mapping[str, Any]) -> None:
    """The used candidates and a few more, one a line: place, score, fused score, score of each leg, name, outcome."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("sum", justify="right", no_wrap=True)
    legs = [*leg_names([query["kind"] for query in trace["queries"]])]
    wide = screen.width >= _WIDE  # a narrow screen shows the names instead
    for leg in legs if wide else ():
        table.add_column(leg, justify="right", no_wrap=True)
    table.add_column("passage", ratio=1, overflow="fold")
    used = sum(candidate["outcome"] == "kept" for candidate in trace["candidates"])
    for place, candidate in enumerate(trace["candidates"][: used + _UNUSED_SHOWN], 1):
        scores = [f"{score:.2f}" for score in candidate["scores"]] if wide else []
        cells = [str(place), f"{candidate['cosine']:.2f}", f"{candidate['fused']:.2f}", *scores, _candidate(candidate)]
        table.add_row(*cells, style="" if candidate["outcome"] in ("kept", "neighbour") else "dim")
    screen.print(table)


_WIDE: Final = 76  # columns from which the score of each leg has room


def _candidate(candidate: Mapping[str, Any]) -> str:
    from rich.markup import escape

    outcome = _OUTCOMES[candidate["outcome"]]
    return escape(f"{_name(candidate['heading'], candidate['title'])}{f' ({outcome})' if outcome else ''}")


def leg_names(kinds: Sequence[str]) -> Iterator[str]:
    """Names of the legs, such as "cosine", "BM25", "context 1": two for the question, one for each other query."""
    yield from ("cosine", "BM25")
    for number, kind in enumerate(kinds[1:], 1):
        yield "rewrite" if kind == "rewrite" else f"context {number}"


def _kept(response: Response) -> Iterator[tuple[str, str]]:
    """What a conversation keeps of a turn."""
    yield "status", f"{response.status}{_reason(response)}, {_tokens(response)}"
    yield "", "The candidates, the check and the times of an earlier answer are not stored."


def _reason(response: Response) -> str:
    return f" ({response.fallback_reason})" if response.fallback_reason else ""


def _tokens(response: Response) -> str:
    used = response.tokens_used
    return f"{used.total:,} tokens{' (estimated)' if used.estimated else ''}"


def _findings(response: Response) -> Iterator[tuple[str, str]]:
    yield (
        "budget",
        f"{counted(response.retrieval_count, 'passage')} fitted into the context of {in_line(response.model)}",
    )
    yield "checked", checked_line(response.grounding)
    if response.grounding.judge:
        yield "judged", printable(judged_line(response.grounding.judge))
    calls = counted(response.llm_calls, "model call")
    yield "status", f"{response.status}{_reason(response)}, {calls}, {_tokens(response)}"
    times = response.timings_ms
    first = f", first words after {times.first_token:.0f} ms" if times.first_token is not None else ""
    yield "time", f"{times.total:.0f} ms, of which searching {times.retrieval:.0f} ms{first}"


def _print_fields(screen: Console, fields: Sequence[tuple[str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim", min_width=8)
    table.add_column(overflow="fold")
    for name, text in fields:
        table.add_row(name, Text(text))
    screen.print(table)


def checked_line(grounding: Grounding) -> str:
    """For example "5 sentences, 4 supported, 0 unconfirmed, 1 removed"."""
    counts = f"{counted(grounding.sentences, 'sentence')}, {grounding.supported} supported, "
    return counts + f"{grounding.unconfirmed} unconfirmed, {grounding.removed} removed"


def judged_line(judge: JudgeTotals) -> str:
    """For example "gpt-4o: 2 calls, 5 sentences, 4 confirmed, 1 rejected, 812 ms"."""
    if not judge.calls:
        return f"{judge.model}: no call, since no sentence had to be judged"
    counts = f"{counted(judge.calls, 'call')}, {counted(judge.sentences, 'sentence')}"
    found = f"{judge.confirmed} confirmed, {judge.removed} rejected"
    return f"{judge.model}: {counts}, {found}, {judge.milliseconds:.0f} ms"
