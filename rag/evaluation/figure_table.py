"""The figures of a run as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from rag.evaluation.evaluation_run import EvaluationRun, RunComparison
from rag.evaluation.figures import FigureUnit
from rag.text.counting import counted

_NAME, _SAYS = 21, 60  # columns


def number(value: float | None, unit: FigureUnit, *, signed: bool = False) -> str:
    """A figure for a reader: shares in percent, ratios with three decimals; a dash if there is none."""
    if value is None:
        return "–"
    sign = "+" if signed else ""
    if unit == "share":
        return f"{value * 100:{sign}.0f}%"
    if unit == "ratio":
        return f"{value:{sign}.3f}"
    return f"{value:{sign},.0f}" if unit == "ms" or abs(value) >= 10 else f"{value:{sign}.2f}"


def interval(low: float | None, high: float | None, unit: FigureUnit, *, signed: bool = False) -> str:
    """For example "68% to 97%"; empty without an interval."""
    if low is None or high is None:
        return ""
    return f"{number(low, unit, signed=signed)} to {number(high, unit, signed=signed)}"


def lines(run: EvaluationRun) -> Iterator[str]:
    """The setup, the figures that apply, right answers by kind of question, and the comparison if there is one."""
    setup = run.setup
    asked, conversations = counted(len(run.questions), "question"), counted(setup.conversations, "conversation")
    yield f"{asked} in {conversations}; dataset {setup.dataset}"
    book = f"book {setup.collection} ({counted(setup.passages, 'passage')})"
    yield f"{book}, profile {setup.profile}, answered by {setup.model}"
    yield ""
    yield f"{'figure':<{_NAME}} {'is about':<{_SAYS}} {'value':>7}  {'95% interval':<16} questions"
    for figure in run.figures.values():
        if figure.n:
            value, range_ = number(figure.value, figure.unit), interval(figure.low, figure.high, figure.unit)
            yield f"{figure.name:<{_NAME}} {figure.says:<{_SAYS}} {value:>7}  {range_:<16} {figure.n:>9}"
    yield ""
    yield f"{'kind of question':<{_NAME}} right"
    for kind, counts in run.kinds.items():
        yield f"{kind:<{_NAME}} {counts['right']} of {counts['asked']}"
    if run.against is not None:
        yield from _comparison(run.against)


def _comparison(against: RunComparison) -> Iterator[str]:
    yield ""
    missing = f"; {against.only_before} only before, {against.only_now} only now"
    gone = missing if against.only_before or against.only_now else ""
    asked = counted(against.common, "question")
    yield f"Compared with {against.before.model} on {against.before.collection}: {asked}{gone}"
    yield f"{'figure':<{_NAME}} {'before':>8} {'now':>8} {'change':>8}  {'95% interval':<18} verdict"
    for one in against.figures:
        if one.difference is not None:
            change = number(one.difference, one.unit, signed=True)
            range_ = interval(one.low, one.high, one.unit, signed=True)
            before, now = number(one.before, one.unit), number(one.now, one.unit)
            yield f"{one.name:<{_NAME}} {before:>8} {now:>8} {change:>8}  {range_:<18} {one.verdict}"
    for turned in against.turned:
        yield f"{'now right' if turned.right_now else 'now wrong'}: {turned.question}"
