"""Figures of a run with their intervals, and two runs side by side.

A figure is a ratio of sums over questions, or of two means. Its 95% interval comes from a bootstrap over whole
conversations, whose questions are not independent (Efron and Tibshirani 1993, percentile method, fixed seed). Times are
medians. Recall, nDCG and reciprocal rank are computed by ir-measures (Macavaney et al. 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from rag.evaluation.grading import DEPTH, GradedAnswer
from rag.types import Record

SAMPLES: Final = 2_000
_AT: Final = "recall@5"  # the measure of the follow-up ratio
Better = Literal["higher", "lower"]
FigureUnit = Literal["share", "ratio", "count", "ms"]
Cells = tuple[float, ...]  # a question's share of the sums: numerator, denominator, and for a ratio of means two more


class Figure(Record):
    """A figure with its 95% interval. `n` counts the questions that it is about; without any, `value` is None."""

    name: str
    says: str
    unit: FigureUnit
    better: Better
    value: float | None
    low: float | None
    high: float | None
    n: int


class Change(Record):
    """How a figure differs between two runs, over the conversations that both have. The interval is of `difference`."""

    name: str
    says: str
    unit: FigureUnit
    better: Better
    before: float | None
    now: float | None
    difference: float | None
    low: float | None
    high: float | None

    @property
    def verdict(self) -> str:
        """ "better" or "worse" if the interval excludes zero, else "same"."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return "same"
        return "better" if (self.low > 0) is (self.better == "higher") else "worse"


@dataclass(frozen=True, slots=True)
class MeasuredAnswer:
    """A graded answer with the measures of its ranking; these are empty if no label says what is relevant."""

    answer: GradedAnswer
    measures: dict[str, float]
    standalone: dict[str, float]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of figure. `cells` gives a question's share of the sums, or None if the figure is not about it."""

    name: str
    says: str
    cells: Callable[[MeasuredAnswer], Cells | None]
    better: Better = "higher"
    unit: FigureUnit = "share"

    @property
    def median(self) -> bool:
        return self.unit == "ms"

    @property
    def about(self) -> dict[str, Any]:
        return {"name": self.name, "says": self.says, "unit": self.unit, "better": self.better}


def measured(answers: Sequence[GradedAnswer]) -> list[MeasuredAnswer]:
    """The answers with the measures of their rankings, in the given order."""
    rankings, alone = {}, {}
    for position, one in enumerate(answers):
        if one.wanted:
            rankings[str(position)] = ([hit.relevant for hit in one.ranking], one.wanted)
            if one.standalone_relevant is not None:
                alone[str(position)] = (one.standalone_relevant, one.wanted)
    found, written_out = measures(rankings), measures(alone)
    return [MeasuredAnswer(o, found.get(str(p), {}), written_out.get(str(p), {})) for p, o in enumerate(answers)]


def figures(answers: Sequence[GradedAnswer]) -> list[Figure]:
    """All figures of a run, those without any question included."""
    rows = measured(answers)
    conversations = [row.answer.conversation for row in rows]
    draws = _draws(len(dict.fromkeys(conversations)))
    found = []
    for kind in KINDS:
        samples = _Samples(kind, rows, conversations, draws)
        low, high = _interval(samples.drawn)
        value = _rounded(samples.value)
        found.append(Figure(**kind.about, value=value, low=low, high=high, n=samples.n))
    return found


def changes(before: Sequence[GradedAnswer], now: Sequence[GradedAnswer]) -> list[Change]:
    """The figures of two runs over the conversations of both, with paired bootstrap intervals of the differences."""
    common = {one.conversation for one in before} & {one.conversation for one in now}
    first = [row for row in measured(before) if row.answer.conversation in common]
    second = [row for row in measured(now) if row.answer.conversation in common]
    order = sorted(common)
    draws = _draws(len(order))
    found = []
    for kind in KINDS:
        old, new = (
            _Samples(kind, rows, [row.answer.conversation for row in rows], draws, order) for rows in (first, second)
        )
        difference = None if old.value is None or new.value is None else _rounded(new.value - old.value)
        low, high = _interval(new.drawn - old.drawn) if difference is not None else (None, None)
        found.append(
            Change(
                **kind.about,
                before=_rounded(old.value),
                now=_rounded(new.value),
                difference=difference,
                low=low,
                high=high,
            )
        )
    return found


class _Samples:
    """A figure's value, and its values in the draws of the bootstrap."""

    def __init__(
        self,
        kind: _Kind,
        rows: Sequence[MeasuredAnswer],
        conversations: Sequence[str],
        draws: NDArray[np.int64],
        order: Sequence[str] | None = None,
    ) -> None:
        cells = [kind.cells(row) for row in rows]
        about = [(name, cell) for name, cell in zip(conversations, cells, strict=True) if cell is not None]
        self.n = len(about)
        groups = {name: place for place, name in enumerate(order or dict.fromkeys(conversations))}
        if not about:
            self.value: float | None = None
            self.drawn: NDArray[np.float64] = np.empty(0)
        elif kind.median:
            values = np.array([cell[0] for _, cell in about])
            places = np.array([groups[name] for name, _ in about])
            self.value = float(np.median(values))
            repeats = (np.repeat(values, draw[places]) for draw in draws)
            self.drawn = np.array([np.median(one) if len(one) else np.nan for one in repeats])
        else:
            sums = np.zeros((len(groups), len(about[0][1])))
            for name, cell in about:
                sums[groups[name]] += cell
            whole = _ratio(sums.sum(axis=0, keepdims=True))[0]
            self.value = float(whole) if np.isfinite(whole) else None
            self.drawn = _ratio(draws @ sums)


def _ratio(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """First column by second, and that by the ratio of the third and fourth if there are four; NaN for 0 by 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: NDArray[np.float64] = sums[:, 0] / sums[:, 1]
        if sums.shape[1] == 4:
            ratio = ratio / (sums[:, 2] / sums[:, 3])
    return ratio


def _draws(groups: int) -> NDArray[np.int64]:
    """How often each conversation is in each sample."""
    if not groups:
        return np.zeros((0, 0), dtype=np.int64)
    return np.random.default_rng(0).multinomial(groups, [1 / groups] * groups, size=SAMPLES)


def _interval(drawn: NDArray[np.float64]) -> tuple[float | None, float | None]:
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return None, None
    low, high = np.percentile(finite, [2.5, 97.5])
    return _rounded(float(low)), _rounded(float(high))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _share(value: float | bool | None) -> Cells | None:
    return None if value is None else (float(value), 1.0)


def _measure(name: str) -> Callable[[MeasuredAnswer], Cells | None]:
    return lambda row: _share(row.measures.get(name))


def _field(name: str, *, answerable: bool | None = None) -> Callable[[MeasuredAnswer], Cells | None]:
    """A field of the answers: of all, or of those to questions that are `answerable` or are not."""
    return lambda row: _share(getattr(row.answer, name)) if answerable in (None, row.answer.answerable) else None


def _standing(name: str) -> Callable[[MeasuredAnswer], Cells | None]:
    """The share of the sentences that state something."""
    return lambda row: (getattr(row.answer, name), row.answer.sentences) if row.answer.sentences else None


def _follow_up(row: MeasuredAnswer) -> Cells | None:
    """A follow-up against itself written out; a question without that counts for nothing."""
    if not row.answer.follow_up or not row.standalone:
        return None
    return row.measures[_AT], 1.0, row.standalone[_AT], 1.0


def _follow_up_right(row: MeasuredAnswer) -> Cells | None:
    """A follow-up's right answer against those of questions asked alone."""
    if not row.answer.answerable:
        return None
    right = float(row.answer.right)
    return (right, 1.0, 0.0, 0.0) if row.answer.follow_up else (0.0, 0.0, right, 1.0)


KINDS: Final = (
    _Kind("right", "answerable questions answered right", _field("right", answerable=True)),
    _Kind("exact_refusals", "unanswerable questions refused", _field("refused", answerable=False)),
    _Kind("false_refusals", "answerable questions refused", _field("refused", answerable=True), "lower"),
    _Kind("right_page_cited", "answerable questions whose right page is cited", _field("page_cited")),
    _Kind("citation_precision", "cited passages that are relevant", _field("citation_precision")),
    _Kind("citation_recall", "relevant passages that are cited", _field("citation_recall")),
    _Kind("answer_overlap", "words shared with the reference answer", _field("overlap")),
    _Kind("recall@1", "relevant passages ranked first", _measure("recall@1")),
    _Kind("recall@3", "relevant passages among the first 3", _measure("recall@3")),
    _Kind("recall@5", "relevant passages among the first 5", _measure("recall@5")),
    _Kind("recall@10", "relevant passages among the first 10", _measure("recall@10")),
    _Kind("recall@20", "relevant passages among the first 20", _measure("recall@20")),
    _Kind("ndcg@5", "nDCG of the first 5", _measure("ndcg@5"), unit="ratio"),
    _Kind("ndcg@10", "nDCG of the first 10", _measure("ndcg@10"), unit="ratio"),
    _Kind("mrr", "reciprocal rank of the first relevant passage", _measure("mrr"), unit="ratio"),
    _Kind("followup_ratio", "recall@5 of follow-ups, by that of their written-out forms", _follow_up, unit="ratio"),
    _Kind("followup_right_ratio", "right answers to follow-ups, by those to first questions", _follow_up_right,
          unit="ratio"),
    _Kind("supported", "sentences that their passages state", _standing("supported")),
    _Kind("unconfirmed", "sentences that could not be confirmed", _standing("unconfirmed"), "lower"),
    _Kind("contradicted", "sentences that their passages contradict", _standing("contradicted"), "lower"),
    _Kind("tokens", "tokens per question", _field("tokens"), "lower", "count"),
    _Kind("llm_calls", "model calls per question", _field("llm_calls"), "lower", "count"),
    _Kind("first_sentence_ms", "milliseconds to the first sentence, median", _field("first_sentence_ms"), "lower",
          "ms"),
    _Kind("errors", "questions that ended with an error", lambda row: _share(row.answer.error is not None), "lower"),
)  # fmt: skip


def right_by_kind(answers: Sequence[GradedAnswer]) -> dict[str, Any]:
    """For each kind of question, how many were right and how many were asked."""
    return {
        kind: {
            "right": sum(one.right for one in answers if one.kind == kind),
            "asked": sum(one.kind == kind for one in answers),
        }
        for kind in sorted({one.kind for one in answers})
    }


LabelRanking = Sequence[Sequence[int]]  # for each passage, best first, the positions of the labels that it matches


def measures(rankings: Mapping[str, tuple[LabelRanking, int]]) -> dict[str, dict[str, float]]:
    """Each question's recall@1 to recall@20, ndcg@5, ndcg@10 and mrr, with binary gains.

    `rankings` has for each question its ranking and the number of its labels, at least one. The first passage that
    matches a label counts as it; further ones are dropped. A passage that matches several takes as many ranks.
    """
    import ir_measures
    from ir_measures import RR, R, nDCG

    names = {R @ depth: f"recall@{depth}" for depth in range(1, DEPTH + 1)}
    names |= {nDCG @ 5: "ndcg@5", nDCG @ 10: "ndcg@10", RR: "mrr"}
    found: dict[str, dict[str, float]] = {key: dict.fromkeys(names.values(), 0.0) for key in rankings}
    qrels = {key: {f"label {label}": 1 for label in range(wanted)} for key, (_, wanted) in rankings.items()}
    run = {key: scored(ranking) for key, (ranking, _) in rankings.items() if ranking}
    if run:
        for measured in ir_measures.iter_calc(list(names), qrels, run):
            found[measured.query_id][names[measured.measure]] = measured.value
    return found


def scored(ranking: LabelRanking) -> dict[str, float]:
    """A ranking as scores of what counts in it: labels, and passages without one.

    >>> scored([[], [0], [0], [1, 0]])
    {'passage 0': 3.0, 'label 0': 2.0, 'label 1': 1.0}
    """
    names: dict[str, None] = {}
    for position, labels in enumerate(ranking):
        names |= dict.fromkeys([f"label {label}" for label in labels] or [f"passage {position}"])
    return {name: float(len(names) - rank) for rank, name in enumerate(names)}
