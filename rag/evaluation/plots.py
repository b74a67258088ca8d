"""Plots of a run as inline SVG. Colours are those of the page's style sheet, so that they suit dark and light."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

_WIDTH, _HEIGHT = 560, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 12, 40
_BINS: Final = 20


class Series(NamedTuple):
    """A line or a set of bars: its name for the legend, its class in the style sheet, and its values."""

    name: str
    style: str
    values: Sequence[float]


def histogram(title: str, series: Sequence[Series], gate: float, *, across: str) -> str:
    """How often each score from 0 to 1 occurs in each series, side by side, with the gate as a vertical line."""
    counts = [[0] * _BINS for _ in series]
    for row, one in zip(counts, series, strict=True):
        for value in one.values:
            row[min(_BINS - 1, int(value * _BINS))] += 1
    most = max(1, *(max(row) for row in counts))
    width = (_WIDTH - _LEFT - _RIGHT) / _BINS / max(1, len(series))
    bars = [
        f'<rect class="{one.style}" x="{_x(bin_ / _BINS) + place * width:.1f}" y="{_y(count / most):.1f}" '
        f'width="{width * 0.9:.1f}" height="{_y(0) - _y(count / most):.1f}">'
        f"<title>{escape(one.name)}: {count} from {bin_ / _BINS:.2f} to {(bin_ + 1) / _BINS:.2f}</title></rect>"
        for place, (one, row) in enumerate(zip(series, counts, strict=True))
        for bin_, count in enumerate(row)
        if count
    ]
    line = (
        f'<line class="gate" x1="{_x(gate):.1f}" x2="{_x(gate):.1f}" y1="{_TOP}" y2="{_y(0):.1f}"/>'
        f'<text class="gate-label" x="{_x(gate) + 4:.1f}" y="{_TOP + 10}">gate {gate:g}</text>'
    )
    ticks = [(n / 5, f"{n / 5:g}") for n in range(6)]
    return _plot(title, [*bars, line], ticks, [(0, "0"), (1, str(most))], series, across, "questions")


def curve(title: str, series: Sequence[Series], *, across: str, up: str) -> str:
    """Values from 0 to 1 over 1, 2, 3 and so on, as lines."""
    longest = max((len(one.values) for one in series), default=0)
    marks = []
    for one in series:
        points = [(_x((n - 1) / max(1, longest - 1)), _y(value)) for n, value in enumerate(one.values, 1)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        marks.append(f'<polyline class="{one.style}" points="{path}"/>')
        marks += [
            f'<circle class="{one.style}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{n}: {value:.0%}</title></circle>'
            for n, ((x, y), value) in enumerate(zip(points, one.values, strict=True), 1)
        ]
    step = max(1, longest // 5)
    ticks = [((n - 1) / max(1, longest - 1), str(n)) for n in [1, *range(step, longest + 1, step)]]
    heights = [(n / 4, f"{n / 4:.0%}") for n in range(5)]
    return _plot(title, marks, ticks, heights, series, across, up)


def shares(title: str, bins: Sequence[tuple[float, float, int, int]], *, across: str, up: str) -> str:
    """For each bin from a low to a high score, the share that `some` of `all` have, as bars with their counts."""
    bars = []
    for low, high, some, all_ in bins:
        if not all_:
            continue
        x, y = _x(low), _y(some / all_)
        bars.append(
            f'<rect class="first" x="{x:.1f}" y="{y:.1f}" width="{(_x(high) - x) * 0.92:.1f}" '
            f'height="{_y(0) - y:.1f}"><title>{some} of {all_} from {low:.2f} to {high:.2f}</title></rect>'
            f'<text class="count" x="{(_x(low) + _x(high)) / 2:.1f}" y="{min(y, _y(0)) - 3:.1f}">{some}/{all_}</text>'
        )
    ticks = [(n / 5, f"{n / 5:g}") for n in range(6)]
    return _plot(title, bars, ticks, [(n / 4, f"{n / 4:.0%}") for n in range(5)], (), across, up)


def _plot(
    title: str,
    marks: Sequence[str],
    ticks: Sequence[tuple[float, str]],
    heights: Sequence[tuple[float, str]],
    series: Sequence[Series],
    across: str,
    up: str,
) -> str:
    """A plot with its axes; `ticks` and `heights` are places from 0 to 1 with their texts."""
    grid = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_y(place):.1f}" y2="{_y(place):.1f}"/>'
        f'<text class="tick up" x="{_LEFT - 6}" y="{_y(place) + 4:.1f}">{text}</text>'
        for place, text in heights
    ]
    feet = [f'<text class="tick" x="{_x(place):.1f}" y="{_y(0) + 15:.1f}">{text}</text>' for place, text in ticks]
    legend = "".join(f'<span class="key"><i class="{one.style}"></i>{escape(one.name)}</span>' for one in series)
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    names = (
        f'<text class="tick" x="{middle:.0f}" y="{_HEIGHT - 6}">{escape(across)}</text>'
        f'<text class="tick" transform="translate(12 {(_TOP + _y(0)) / 2:.0f}) rotate(-90)">{escape(up)}</text>'
    )
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{"".join(grid)}{"".join(feet)}{names}{"".join(marks)}</svg>'
        f'<div class="legend">{legend}</div></figure>'
    )


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)
