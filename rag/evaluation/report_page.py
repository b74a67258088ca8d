"""A run as one HTML page: figures, plots, and the worst questions with what was found and shown.

The page loads nothing, runs no script and escapes every text. Plots are SVG in the colours of the style sheet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from rag.evaluation.evaluation_run import EvaluationRun, RunComparison
from rag.evaluation.figure_table import interval, number
from rag.evaluation.figures import measured
from rag.evaluation.grading import DEPTH, GradedAnswer
from rag.text.counting import counted
from rag.text.visible import visible

WORST: Final = 20
_SHOWN_HITS: Final = 12
_BINS, _REFUSAL_BINS = 20, 10  # of scores
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_MAIN: Final = ("right", "right_page_cited", "exact_refusals", "supported")  # figures at the top of the page
_STYLE: Final = Path(__file__).with_name("report.css")


def report_page(run: EvaluationRun) -> str:
    """The whole page."""
    setup = run.setup
    title = f"{setup.collection}: {counted(len(run.questions), 'question')}"
    about = (
        f"dataset {setup.dataset}, {counted(setup.conversations, 'conversation')} · book {setup.collection}, "
        f"{counted(setup.passages, 'passage')} · profile {setup.profile} · answered by {setup.model} · "
        f"found with {setup.searched_with} · {run.created_at[:16].replace('T', ' ')} UTC"
    )
    parts = [
        f"<h1>{_safe(title)}</h1><p class='soft'>{_safe(about)}</p>",
        _main_figures(run),
        *([_comparison(run.against)] if run.against else []),
        "<h2>Figures</h2>",
        _figures(run),
        '<h2>Plots</h2><div class="plots">',
        *_plots(run.questions),
        "</div><h2>Kinds of questions</h2>",
        _table(("kind", "right", "asked"), ((k, c["right"], c["asked"]) for k, c in run.kinds.items())),
        f"<h2>The {WORST} worst questions</h2>",
        *(map(_question, worst(run.questions)) if run.questions else ()),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        f"<title>{_safe(title)}</title><style>\n{_STYLE.read_text('utf-8')}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def worst(answers: Sequence[GradedAnswer]) -> list[GradedAnswer]:
    """The questions that came out worst: errors and wrong answers first, then those found late or badly cited."""
    rows = [row for row in measured(answers) if not _is_fine(row.answer)]
    rows.sort(
        key=lambda row: (
            row.answer.error is None,
            row.answer.right,
            row.answer.page_cited is not False,
            row.measures.get("mrr", 1.0),
            row.answer.citation_precision if row.answer.citation_precision is not None else 1.0,
        )
    )
    return [row.answer for row in rows[:WORST]]


def _is_fine(one: GradedAnswer) -> bool:
    found_first = not one.wanted or bool(one.ranking and one.ranking[0].relevant)
    return one.right and found_first and one.contradicted == 0 and one.citation_precision in (None, 1.0)


def _main_figures(run: EvaluationRun) -> str:
    """The figures that say most about a book, large, each with its interval."""
    boxes = (
        f"<div><b>{_safe(number(one.value, one.unit))}</b>{_safe(one.says)}"
        f"<span class='soft'>{_safe(interval(one.low, one.high, one.unit))}</span></div>"
        for name in _MAIN
        if (one := run.figures.get(name)) and one.n
    )
    return f"<div class='main'>{''.join(boxes)}</div>"


def _figures(run: EvaluationRun) -> str:
    rows = (
        (f.name, f.says, number(f.value, f.unit), interval(f.low, f.high, f.unit), f.n)
        for f in run.figures.values()
        if f.n
    )
    return _table(("figure", "is about", "value", "95% interval", "questions"), rows)


def _plots(answers: Sequence[GradedAnswer]) -> Iterator[str]:
    searched = [(one, one.best_score) for one in answers if one.best_score is not None]
    best = {kind: [score for one, score in searched if one.answerable is kind] for kind in (True, False)}
    counts = {kind: Counter(_bin(score, _BINS) for score in scores) for kind, scores in best.items()}
    most = max([1, *(count for one in counts.values() for count in one.values())])
    series = [
        Bars(name, style, [(found[n] / most, f"{name}: {found[n]} from {n / _BINS:.2f}") for n in range(_BINS)])
        for name, style, found in (("answerable", "first", counts[True]), ("unanswerable", "second", counts[False]))
    ]
    gate = answers[0].threshold if answers else 0.0
    across, left = "score of the best passage", ((0, "0"), (1, str(most)))
    yield _plot("Best score of each question", series, _SCORES, left, across=across, up="questions", gate=gate)
    rows = [row.measures for row in measured(answers) if row.measures]
    depths = [sum(row[f"recall@{n}"] for row in rows) / len(rows) if rows else 0.0 for n in range(1, DEPTH + 1)]
    bars = Bars("recall", "first", [(share, f"{n}: {share:.0%}") for n, share in enumerate(depths, 1)])
    below = [((n - 0.5) / DEPTH, str(n)) for n in (1, *range(5, DEPTH + 1, 5))]
    yield _plot("Recall by depth", [bars], below, _SHARES, across="passages", up="recall")
    bins = [[one.refused for one, score in searched if _bin(score, _REFUSAL_BINS) == n] for n in range(_REFUSAL_BINS)]
    bars = Bars("refused", "first", [(sum(b) / len(b) if b else 0.0, f"{sum(b)} of {len(b)}") for b in bins])
    shares = [f"{sum(b)}/{len(b)}" if b else "" for b in bins]
    yield _plot("Refusals by score", [bars], _SCORES, _SHARES, across=across, up="share refused", counts=shares)


def _bin(score: float, bins: int) -> int:
    return min(bins - 1, int(score * bins))


def _question(one: GradedAnswer) -> str:
    verdict = "right" if one.right else "wrong"
    wanted = "answerable" if one.answerable else "unanswerable"
    style = "good" if one.right else "bad"
    facts = [f"line {one.line}", f"turn {one.turn}", one.kind, wanted, one.status, one.fallback_reason, one.error]
    hits = (
        (
            rank,
            f"{hit.score:.3f}",
            "relevant" if hit.relevant else "",
            hit.outcome,
            " > ".join(dict.fromkeys(filter(None, (hit.title, hit.heading)))),
            hit.page,
        )
        for rank, hit in enumerate(one.ranking[:_SHOWN_HITS], 1)
    )
    return (
        f"<details{'' if one.right else ' open'}><summary><b class='{style}'>{verdict}</b> {_safe(one.question)} "
        f"<span class='soft'>{_safe(' · '.join(filter(None, facts)))}</span></summary>"
        f"<pre>{_safe(one.answer)}</pre><p class='soft'>cited: {_safe(', '.join(one.citations) or 'nothing')}</p>"
        f"{_table(('rank', 'score', '', 'outcome', 'passage', 'page'), hits)}</details>"
    )


def _comparison(against: RunComparison) -> str:
    rows = []
    for one in against.figures:
        if one.difference is None:
            continue
        style = {"better": "good", "worse": "bad"}.get(one.verdict, "soft")
        values = (
            one.name,
            number(one.before, one.unit),
            number(one.now, one.unit),
            number(one.difference, one.unit, signed=True),
            interval(one.low, one.high, one.unit, signed=True),
        )
        cells = "".join(f"<td{_column(place)}>{_safe(str(value))}</td>" for place, value in enumerate(values))
        rows.append(f"<tr>{cells}<td class='{style}'>{one.verdict}</td></tr>")
    head = "".join(f"<th{_column(n)}>{name}</th>" for n, name in enumerate(("figure", "before", "now", "change")))
    turned = "".join(
        f"<details><summary><b class='{'good' if one.right_now else 'bad'}'>now "
        f"{'right' if one.right_now else 'wrong'}</b> {_safe(one.question)}</summary><p class='soft'>before</p>"
        f"<pre>{_safe(one.before)}</pre><p class='soft'>now</p><pre>{_safe(one.now)}</pre></details>"
        for one in against.turned
    )
    was = against.before
    about = (
        f"Before: {was.model} on {was.collection}, profile {was.profile}. "
        f"{counted(against.common, 'question')} in both runs, "
        f"{against.only_before} only before, {against.only_now} only now."
    )
    head += "<th class='n'>95% interval</th><th></th>"
    return (
        f"<h2>What changed</h2><p>{_safe(about)}</p><div class='scroll'><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>{turned}"
    )


def _column(place: int) -> str:
    return " class='n'" if place else ""


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table that scrolls where it is wider than the page; columns of numbers are aligned on the right."""
    listed = list(rows)
    marks = [" class='n'" if isinstance(cell, int | float) else "" for cell in (listed[0] if listed else names)]
    head = "".join(f"<th{mark}>{_safe(name)}</th>" for mark, name in zip(marks, names, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{mark}>{_safe(str(cell))}</td>' for mark, cell in zip(marks, row, strict=True))}</tr>"
        for row in listed
    )
    return f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _safe(text: str) -> str:
    """The text for HTML: escaped, and without control characters and lone surrogates, which no page can hold."""
    clean = visible(text.encode("utf-8", "replace").decode("utf-8"))
    return escape(clean)


_WIDTH, _HEIGHT = 560, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 12, 40
_SHARES: Final = tuple((n / 4, f"{n / 4:.0%}") for n in range(5))  # of the axis on the left
_SCORES: Final = tuple((n / 5, f"{n / 5:g}") for n in range(6))  # of the axis below
Axis = Sequence[tuple[float, str]]  # places from 0 to 1, with their texts


class Bars(NamedTuple):
    """Bars from left to right: their name for the legend, their class in the style sheet, and of each its height, from
    0 to 1, and what it says.
    """

    name: str
    style: str
    bars: Sequence[tuple[float, str]]


def _plot(
    title: str,
    series: Sequence[Bars],
    below: Axis,
    left: Axis,
    *,
    across: str,
    up: str,
    gate: float | None = None,
    counts: Sequence[str] = (),
) -> str:
    """The bars of all series side by side, between two axes. `gate` is the place of a vertical line, and `counts` stand
    above the bars of the first series.
    """
    bars = _drawn(series, counts)
    if gate is not None:
        bars.append(
            f'<line class="gate" x1="{_x(gate):.1f}" x2="{_x(gate):.1f}" y1="{_TOP}" y2="{_y(0):.1f}"/>'
            f'<text class="gate-label" x="{_x(gate) + 4:.1f}" y="{_TOP + 10}">gate {gate:g}</text>'
        )
    names = (
        f'<text class="tick" x="{_x(0.5):.0f}" y="{_HEIGHT - 6}">{_safe(across)}</text>'
        f'<text class="tick" transform="translate(12 {(_TOP + _y(0)) / 2:.0f}) rotate(-90)">{_safe(up)}</text>'
    )
    legend = "".join(f'<span class="key"><i class="{one.style}"></i>{_safe(one.name)}</span>' for one in series)
    return (
        f'<figure><figcaption>{_safe(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{_safe(title)}">{_scales(below, left)}{names}{"".join(bars)}</svg>'
        f'<div class="legend">{legend}</div></figure>'
    )


def _drawn(series: Sequence[Bars], counts: Sequence[str]) -> list[str]:
    """The bars as elements of SVG, and the counts above those of the first series."""
    wide = (_WIDTH - _LEFT - _RIGHT) / max(1, len(series[0].bars))
    bars = [
        f'<rect class="{one.style}" x="{_LEFT + wide * (place + n / len(series)):.1f}" y="{_y(height):.1f}" '
        f'width="{wide / len(series) * 0.9:.1f}" height="{_y(0) - _y(height):.1f}"><title>{_safe(says)}</title></rect>'
        for n, one in enumerate(series)
        for place, (height, says) in enumerate(one.bars)
        if height
    ]
    return bars + [
        f'<text class="count" x="{_LEFT + wide * (place + 0.5):.1f}" y="{_y(height) - 3:.1f}">{text}</text>'
        for place, (text, (height, _)) in enumerate(zip(counts, series[0].bars, strict=False))
    ]


def _scales(below: Axis, left: Axis) -> str:
    """The numbers of both axes, and the lines of the grid."""
    grid = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_y(place):.1f}" y2="{_y(place):.1f}"/>'
        f'<text class="tick up" x="{_LEFT - 6}" y="{_y(place) + 4:.1f}">{text}</text>'
        for place, text in left
    ]
    feet = [f'<text class="tick" x="{_x(place):.1f}" y="{_y(0) + 15:.1f}">{text}</text>' for place, text in below]
    return "".join([*grid, *feet])


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)
