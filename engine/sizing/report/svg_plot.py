"""Plots as SVG text: lines with bands, and segmented bars. The CSS of the page defines their style.

band_plot(Plot("TTFT", "requests in flight", "ms"), lines, limit=2000, marks=[(23, "at the peak")])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

_WIDTH, _HEIGHT = 400, 230
_BAR_WIDTH, _BAR_HEIGHT = 1000, 40
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 42
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Plot:
    """Title and axis labels of a plot."""

    title: str
    x_label: str
    y_label: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `low` and `high` are empty if it has no band."""

    name: str
    css: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class BarSegment:
    """One segment of a bar."""

    name: str
    css: str
    size: float


def nice_ticks(most: float) -> list[float]:
    """Return about five ticks from 0 to at least `most`, in steps of 1, 2 or 5 times a power of ten."""
    if most <= 0:
        return [0.0, 1.0]
    raw = most / _TICKS
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    count = int(-(-most // step))
    return [step * each for each in range(count + 1)]


def short(value: float) -> str:
    """Return a number as an axis label: `1.2M`, `450`, `0.5`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def band_plot(
    plot: Plot, lines: Sequence[Line], *, limit: float | None = None, marks: Sequence[tuple[float, str]] = ()
) -> str:
    """Return lines with bands over linear axes that start at 0.

    Args:
        limit: y value of a horizontal limit line.
        marks: (x value, label) of vertical lines.
    """
    x_ticks = nice_ticks(max(max(line.x) for line in lines))
    y_ticks = nice_ticks(max([*(max(line.high or line.y) for line in lines), limit or 0.0]))

    def at(x: float, y: float) -> str:
        across = _LEFT + x / x_ticks[-1] * (_WIDTH - _LEFT - _RIGHT)
        down = _HEIGHT - _BOTTOM - min(y, y_ticks[-1]) / y_ticks[-1] * (_HEIGHT - _TOP - _BOTTOM)
        return f"{across:.1f},{down:.1f}"

    body = [*_axes(plot, x_ticks, y_ticks, at)]
    for line in lines:
        if line.low:
            there = [at(x, y) for x, y in zip(line.x, line.high, strict=True)]
            back = [at(x, y) for x, y in zip(reversed(line.x), reversed(line.low), strict=True)]
            body.append(f'<polygon class="band {line.css}" points="{" ".join(there + back)}"/>')
        points = " ".join(at(x, y) for x, y in zip(line.x, line.y, strict=True))
        body.append(
            f'<polyline class="line {line.css}" points="{points}"><title>{escape(line.name)}</title></polyline>'
        )
    if limit is not None:
        body.append(_segment("limit", at(0, limit), at(x_ticks[-1], limit)))
    for index, (x, word) in enumerate(marks):
        body.append(_segment("mark", at(x, 0), at(x, y_ticks[-1])))
        across, is_right = float(at(x, 0).partition(",")[0]), x > 0.6 * x_ticks[-1]
        place = f'x="{across + (-4 if is_right else 4):.1f}" y="{_TOP + 10 + 13 * index}"'
        body.append(f'<text class="word{" end" if is_right else ""}" {place}>{escape(word)}</text>')
    return _svg(plot.title, _WIDTH, _HEIGHT, body)


def _axes(
    plot: Plot, x_ticks: Sequence[float], y_ticks: Sequence[float], at: Callable[[float, float], str]
) -> list[str]:
    body = []
    for y in y_ticks:
        start, end = at(0, y), at(x_ticks[-1], y)
        body.append(_segment("grid", start, end))
        body.append(f'<text class="tick y" x="{_LEFT - 6}" y="{start.partition(",")[2]}">{short(y)}</text>')
    for x in x_ticks:
        across = at(x, 0).partition(",")[0]
        body.append(f'<text class="tick x" x="{across}" y="{_HEIGHT - _BOTTOM + 15}">{short(x)}</text>')
    middle = _LEFT + (_WIDTH - _LEFT - _RIGHT) / 2
    body.append(f'<text class="axis" x="{middle}" y="{_HEIGHT - 6}">{escape(plot.x_label)}</text>')
    height = _TOP + (_HEIGHT - _TOP - _BOTTOM) / 2
    body.append(f'<text class="axis" transform="translate(13 {height}) rotate(-90)">{escape(plot.y_label)}</text>')
    return body


def _segment(css: str, start: str, end: str) -> str:
    (x1, _, y1), (x2, _, y2) = start.partition(","), end.partition(",")
    return f'<line class="{css}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def bar(title: str, parts: Sequence[BarSegment]) -> str:
    """Return one horizontal bar of segments with labels where they fit; segments of size <= 0 are omitted."""
    kept = [part for part in parts if part.size > 0]
    whole = sum(part.size for part in kept) or 1.0
    body, x = [], 0.0
    for part in kept:
        width = part.size / whole * _BAR_WIDTH
        body.append(
            f'<rect class="part {part.css}" x="{x:.1f}" y="0" width="{width:.1f}" height="{_BAR_HEIGHT}">'
            f"<title>{escape(part.name)}</title></rect>"
        )
        if width > 8 * len(part.name):
            body.append(f'<text class="on" x="{x + 10:.1f}" y="25">{escape(part.name)}</text>')
        x += width
    return _svg(title, _BAR_WIDTH, _BAR_HEIGHT, body)


def _svg(title: str, width: int, height: int, body: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(body)}</svg>"
    )
