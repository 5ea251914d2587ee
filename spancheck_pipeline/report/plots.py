"""Pictures inside a page, as SVG: a rate with its interval, and a figure over dates.

Colours are classes that the page's style sheet gives (light, dark, print), so nothing here carries a style of its own;
the picture that stands alone is ``trend_svg.py``'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from markupsafe import Markup

from spancheck_pipeline.decision.figures import Rate
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.decision.trend import TrendPoint

_BAR: Final = (130, 20)
_PLOT: Final = (340, 108)
_MARGIN: Final = (8, 18, 8, 18)
"""Left, top, right and bottom of a plot."""


def rate_svg(rate: Rate, baseline: float | None = None, threshold: float | None = None) -> Markup:
    """Return a rate on a line from 0 to 1: its interval a band, the baseline's rate a ring, a threshold a tick.

    The numbers stand beside it in the page, so it is hidden from screen readers.
    """
    width, height = _BAR
    middle = height / 2
    shapes = [f'<line class="axis" x1="4" x2="{width - 4}" y1="{middle}" y2="{middle}"/>']
    if rate.low is not None and rate.high is not None:
        x, across = _along(rate.low), max(_along(rate.high) - _along(rate.low), 1)
        shapes.append(f'<rect class="band" x="{x:.1f}" y="{middle - 5}" width="{across:.1f}" height="10" rx="3"/>')
    if threshold is not None:
        x = _along(threshold)
        shapes.append(f'<line class="threshold" x1="{x:.1f}" x2="{x:.1f}" y1="1" y2="{height - 1}"/>')
    if baseline is not None:
        shapes.append(f'<circle class="ring" cx="{_along(baseline):.1f}" cy="{middle}" r="5"/>')
    if rate.value is not None:
        shapes.append(f'<circle class="dot" cx="{_along(rate.value):.1f}" cy="{middle}" r="4"/>')
    return _svg("interval", width, height, shapes, hidden=True)


def _along(share: float) -> float:
    return 6 + (_BAR[0] - 12) * min(max(share, 0.0), 1.0)


def figure_svg(
    name: str, points: Sequence[TrendPoint], answers: Mapping[str, Answer | None], *, is_rate: bool
) -> Markup:
    """Return one figure over dates: a line with its interval, a dot a date in the gate's colour, changes dashed."""
    left, top, right, bottom = _MARGIN
    width, height = _PLOT
    known = [point for point in points if point.value is not None]
    ends = [value for p in known for value in (p.value, p.high) if value is not None]
    most = 1.0 if is_rate else max(ends, default=1.0) or 1.0
    places = {point.date: place for place, point in enumerate(points)}

    def x(date: str) -> float:
        span = width - left - right
        return left + (span * places[date] / (len(points) - 1) if len(points) > 1 else span / 2)

    def y(value: float) -> float:
        return height - bottom - (height - top - bottom) * value / most

    shapes = list(_frame(points, most, is_rate=is_rate))
    for point in points:
        if point.marks:
            at = x(point.date)
            title = f"<title>{point.date}: another {', '.join(point.marks)}</title>"
            shapes.append(
                f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{height - bottom}">{title}</line>'
            )
    banded = [(x(p.date), p.low, p.high) for p in known if p.low is not None and p.high is not None]
    if len(banded) > 1:
        outline = [(at, y(high)) for at, _, high in banded] + [(at, y(low)) for at, low, _ in reversed(banded)]
        shapes.append(f'<polygon class="band" points="{_path(outline)}"/>')
    shapes.append(f'<polyline class="line" points="{_path([(x(p.date), y(p.value or 0.0)) for p in known])}"/>')
    for point in known:
        answer = answers.get(point.date)
        kind = answer.value.lower() if answer else "undecided"
        said = f"{point.date}: {_shown(point.value, is_rate=is_rate)}, n = {point.n}"
        dot = f'cx="{x(point.date):.1f}" cy="{y(point.value or 0.0):.1f}" r="{3 if len(points) < 40 else 2}"'  # noqa: PLR2004 - more dates, smaller dots
        shapes.append(f'<circle class="night {kind}" {dot}><title>{said}</title></circle>')
    last = _shown(known[-1].value, is_rate=is_rate) if known else "nothing measured"
    label = Markup("{} over {} dates; the last: {}").format(name, len(points), last)
    return _svg("figure", width, height, shapes, label=label)


def _frame(points: Sequence[TrendPoint], most: float, *, is_rate: bool) -> Iterator[str]:
    left, top, right, bottom = _MARGIN
    width, height = _PLOT
    yield f'<line class="axis" x1="{left}" x2="{width - right}" y1="{height - bottom}" y2="{height - bottom}"/>'
    yield f'<line class="axis faint" x1="{left}" x2="{width - right}" y1="{top}" y2="{top}"/>'
    yield f'<text x="{width - right}" y="{top - 7}" text-anchor="end">{_shown(most, is_rate=is_rate)}</text>'
    if points:
        yield f'<text x="{left}" y="{height - 4}">{points[0].date}</text>'
    if len(points) > 1:
        yield f'<text x="{width - right}" y="{height - 4}" text-anchor="end">{points[-1].date}</text>'


def _shown(value: float | None, *, is_rate: bool) -> str:
    if value is None:
        return "–"
    return f"{value * 100:.1f} %" if is_rate else f"{value:.4g}"


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _svg(kind: str, width: int, height: int, shapes: Sequence[str], *, label: str = "", hidden: bool = False) -> Markup:
    said = Markup('aria-hidden="true"') if hidden else Markup('role="img" aria-label="{}"').format(label)
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return Markup(f'<svg class="{kind}" {box} {said}>{"".join(shapes)}</svg>')  # noqa: S704 - numbers, dates and our own words; the label is escaped
