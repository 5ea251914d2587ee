"""A trend as an SVG picture: one small plot a figure, the interval as a band, changes as dashed lines.

It needs no plotting library and no network. What the figures are is decided in ``decision/trend.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape

from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.decision.trend import TrendDocument, TrendPoint

_WIDTH: Final = 720
_ROW: Final = 96
_LEFT, _RIGHT, _TOP, _PLOT = 190, 16, 56, 64
_COLORS: Final = {
    Answer.PASS: "#2e7d32", Answer.INCONCLUSIVE: "#f9a825", Answer.FAIL: "#c62828", Answer.NOT_MEASURED: "#ef6c00",
}  # fmt: skip
_STYLE: Final = (
    "text{font:12px sans-serif;fill:#222}.s{font-size:10px;fill:#666}.b{fill:#1565c0;fill-opacity:.15}"
    ".l{fill:none;stroke:#1565c0;stroke-width:1.5}.d{fill:#1565c0}.f{fill:none;stroke:#ddd}"
    ".m{stroke:#888;stroke-dasharray:3 3}"
)


def trend_svg(trend: TrendDocument) -> str:
    """Return the picture of a trend."""
    figures = [*trend.rates.items(), *trend.numbers.items()]
    dates = [night.date for night in trend.nights]
    height = _TOP + _ROW * len(figures) + 24
    about = f"{trend.suite}: {len(dates)} dates, 95 % intervals; dashed: another grader, target or set of cases"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">',
        f"<title>{escape(trend.suite)}</title><style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="20">{escape(about)}</text>',
        *_gates(trend, dates),
    ]
    for row, (name, points) in enumerate(figures):
        lines += _plot(name, points, dates, top=_TOP + _ROW * row, is_rate=name in trend.rates)
    ends = (dates[0], dates[-1]) if dates else ("", "")
    y = height - 8
    lines.append(f'<text class="s" x="{_LEFT}" y="{y}">{escape(ends[0])}</text>')
    lines.append(f'<text class="s" x="{_WIDTH - _RIGHT}" y="{y}" text-anchor="end">{escape(ends[1])}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _gates(trend: TrendDocument, dates: Sequence[str]) -> Iterator[str]:
    yield f'<text class="s" x="8" y="{_TOP - 12}">gate</text>'
    for night in trend.nights:
        color = _COLORS[night.answer] if night.answer else "#bbb"
        title = escape(f"{night.date}: {night.answer or 'not decided'}")
        x = _x(night.date, dates)
        yield f'<circle cx="{x:.1f}" cy="{_TOP - 16}" r="4" fill="{color}"><title>{title}</title></circle>'


def _plot(name: str, points: Sequence[TrendPoint], dates: Sequence[str], *, top: float, is_rate: bool) -> Iterator[str]:
    known = [point for point in points if point.value is not None]
    ends = [value for p in known for value in (p.value, p.low, p.high) if value is not None]
    low, high = (0.0, 1.0) if is_rate else (0.0, max(ends, default=1.0) or 1.0)
    last = known[-1].value if known else None
    shown = "nothing measured" if last is None else f"{last:.1%}" if is_rate else f"{last:.4g}"

    def y(value: float) -> float:
        return top + _PLOT - _PLOT * (value - low) / (high - low)

    yield f'<text x="8" y="{top + 26}">{escape(name)}</text><text class="s" x="8" y="{top + 42}">last: {shown}</text>'
    yield f'<rect class="f" x="{_LEFT}" y="{top}" width="{_WIDTH - _LEFT - _RIGHT}" height="{_PLOT}"/>'
    for value in (low, high):
        text = f"{value:.0%}" if is_rate else f"{value:.3g}"
        yield f'<text class="s" x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{text}</text>'
    for point in points:
        if point.marks:
            x, title = _x(point.date, dates), escape(f"{point.date}: another {', '.join(point.marks)}")
            ends_at = f'y1="{top}" y2="{top + _PLOT}"'
            yield f'<line class="m" x1="{x:.1f}" x2="{x:.1f}" {ends_at}><title>{title}</title></line>'
    banded = [(_x(p.date, dates), p.low, p.high) for p in known if p.low is not None and p.high is not None]
    if len(banded) > 1:
        outline = [(x, y(top_)) for x, _, top_ in banded] + [(x, y(bottom)) for x, bottom, _ in reversed(banded)]
        yield f'<polygon class="b" points="{_path(outline)}"/>'
    yield f'<polyline class="l" points="{_path([(_x(p.date, dates), y(p.value or 0.0)) for p in known])}"/>'
    for point in known:
        title = escape(f"{point.date}: {point.value:.4g}, n = {point.n}")
        yield (
            f'<circle class="d" cx="{_x(point.date, dates):.1f}" cy="{y(point.value or 0.0):.1f}" r="2">'
            f"<title>{title}</title></circle>"
        )


def _x(date: str, dates: Sequence[str]) -> float:
    span = _WIDTH - _LEFT - _RIGHT - 16
    return _LEFT + 8 + (span * dates.index(date) / (len(dates) - 1) if len(dates) > 1 else span / 2)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
