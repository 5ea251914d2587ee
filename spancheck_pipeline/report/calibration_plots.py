"""A calibration as pictures: the reliability diagram of its scores, and its confusion matrix; SVG, no library.

What the figures are is decided in ``decision/calibration.py``; the page around them is ``calibration_markdown.py``'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape

from spancheck_pipeline.decision.judged_figures import CalibrationDocument, ErrorTable, ReliabilityBin

_SIDE: Final = 200
_LEFT, _TOP = 44, 30
_STYLE: Final = (
    "text{font:11px sans-serif;fill:#222}.s{font-size:10px;fill:#666}.f{fill:none;stroke:#bbb}.g{stroke:#bbb;"
    "stroke-dasharray:3 3}.i{stroke:#1565c0}.d{fill:#1565c0;fill-opacity:.75}.n{font-size:18px}"
)
_RIGHT_COLOR, _WRONG_COLOR = "#1565c0", "#c62828"


def reliability_svg(document: CalibrationDocument) -> str:
    """Return the share of items that people pass over the score they were given, a point a tenth, with intervals.

    A point on the dashed line means what it says; its area grows with its items.
    """
    bins = document.graded.bins if document.graded else ()
    n = document.graded.n if document.graded else 0
    height = _TOP + _SIDE + 40
    lines = [
        *_head(f"{document.subject.name}: reliability, {n} items", _LEFT + _SIDE + 20, height),
        f'<rect class="f" x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}"/>',
        f'<line class="g" x1="{_x(0):.1f}" y1="{_y(0):.1f}" x2="{_x(1):.1f}" y2="{_y(1):.1f}"/>',
        *_axes(),
        *_points(bins, n),
    ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def confusion_svg(document: CalibrationDocument) -> str:
    """Return the four counts of answers against labels; the darker, the larger its share of the label's items."""
    cell = 84
    width, height = 100 + 2 * cell + 10, _TOP + 20 + 2 * cell + 10
    lines = _head(f"{document.subject.name}: {document.figures.n_measured} items", width, height)
    for column, name in enumerate(("it passes", "it fails")):
        x = 100 + cell * column + cell / 2
        lines.append(f'<text class="s" x="{x}" y="{_TOP + 12}" text-anchor="middle">{name}</text>')
    for row, (name, cells) in enumerate(_matrix(document.figures.table)):
        y = _TOP + 20 + cell * row
        lines.append(f'<text class="s" x="94" y="{y + cell / 2 + 4}" text-anchor="end">{name}</text>')
        total = sum(cells)
        for column, count in enumerate(cells):
            color = _RIGHT_COLOR if row == column else _WRONG_COLOR
            share = count / total if total else 0.0
            x = 100 + cell * column
            at = f'x="{x + cell / 2 - 1}" text-anchor="middle"'
            at_corner = f'x="{x}" y="{y}" width="{cell - 2}" height="{cell - 2}"'
            lines += [
                f'<rect {at_corner} fill="{color}" fill-opacity="{0.08 + 0.5 * share:.2f}"/>',
                f'<text class="n" {at} y="{y + cell / 2 + 2}">{count}</text>',
                f'<text class="s" {at} y="{y + cell / 2 + 18}">{share:.0%}</text>',
            ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _head(title: str, width: float, height: float) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="18">{escape(title)}</text>',
    ]


def _matrix(table: ErrorTable) -> Iterator[tuple[str, tuple[int, int]]]:
    yield "people pass", (table.n_true_pass, table.n_false_fail)
    yield "people fail", (table.n_false_pass, table.n_true_fail)


def _axes() -> Iterator[str]:
    for value in (0.0, 0.5, 1.0):
        yield f'<text class="s" x="{_LEFT - 6}" y="{_y(value) + 4:.1f}" text-anchor="end">{value:.0%}</text>'
        yield f'<text class="s" x="{_x(value):.1f}" y="{_TOP + _SIDE + 14}" text-anchor="middle">{value:g}</text>'
    middle = f'x="{_x(0.5):.1f}" y="{_TOP + _SIDE + 30}" text-anchor="middle"'
    yield f'<text class="s" {middle}>score</text>'
    turned = f'x="12" y="{_y(0.5):.1f}" transform="rotate(-90 12 {_y(0.5):.1f})" text-anchor="middle"'
    yield f'<text class="s" {turned}>passed by people</text>'


def _points(bins: Sequence[ReliabilityBin], n: int) -> Iterator[str]:
    for part in bins:
        rate = part.positive
        if rate.value is None or rate.low is None or rate.high is None:
            continue
        x, title = _x(part.mean_score), f"{part.low:g}-{part.high:g}: {rate.value:.1%} of {part.n}"
        yield f'<line class="i" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(rate.low):.1f}" y2="{_y(rate.high):.1f}"/>'
        radius = 2.5 + 6 * (part.n / n) ** 0.5
        point = f'cx="{x:.1f}" cy="{_y(rate.value):.1f}" r="{radius:.1f}"'
        yield f'<circle class="d" {point}><title>{title}</title></circle>'


def _x(value: float) -> float:
    return _LEFT + _SIDE * value


def _y(value: float) -> float:
    return _TOP + _SIDE * (1 - value)
