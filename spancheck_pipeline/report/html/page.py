"""Writing the page: the head with its policy, what stands there without a script, packed texts, then the script.

The texts come as a stream and leave as a stream: at no time is more than one pack of them in memory.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import jinja2
from markupsafe import Markup

from spancheck_pipeline.decision.audit import AuditHead, AuditRecord
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.report.html import wording
from spancheck_pipeline.report.html.beside import Beside, beside
from spancheck_pipeline.report.html.coverage import link
from spancheck_pipeline.report.html.overview import ReportFacts, overview
from spancheck_pipeline.report.html.packing import LinePacker, Packer
from spancheck_pipeline.report.html.records import Earlier, by_case, case_json, earlier_json, table_row
from spancheck_pipeline.report.html.signed import Dispositions
from spancheck_pipeline.report.visible import visible

_SCRIPTS: Final = ("text", "packs", "table", "parquet", "downloads", "marks", "case", "changes", "main")
"""The parts of the script, in order; together they are one function."""


def page_digest() -> str:
    """Return the digest of everything that makes a page look and behave as it does: another one is another report."""
    return digest({"template": _asset("page.html.j2"), "style": _asset("page.css"), "script": script()})


def write_page(
    facts: ReportFacts,
    records: Iterable[AuditRecord],
    earlier: Sequence[tuple[str, Iterable[Earlier]]],
    stamps: Mapping[str, str],
) -> Iterator[str]:
    """Yield the page, part by part.

    ``records`` stand in the record's order, those of a case together. ``earlier`` is per baseline kind what the
    baseline answered where cases came out otherwise. ``stamps`` go into the head, for whoever reads the file by
    machine.
    """
    graders = list(facts.head.summary.graders)
    yield _start(facts, {"contract": str(CONTRACT), "contains-text": "true", **stamps})
    table = LinePacker()
    table.add(_about(facts.head, graders))
    packer = Packer("pack")
    decided_at = facts.head.decision.decided_at if facts.head.decision else None
    dispositions = Dispositions(facts.adjudications, run_id=facts.head.run_id, at=decided_at)
    for group in by_case(records):
        pack, place = packer.place
        table.add(table_row(group, graders, facts.head.summary.epochs).line(pack, place))
        yield from packer.add(case_json(group, graders, packer.pool, dispositions))
    yield from packer.close()
    before = LinePacker()
    for kind, cases in earlier:
        packer = Packer(f"before-{kind}")
        for case in cases:
            before.add([kind, case.case_id, *packer.place])
            yield from packer.add(earlier_json(case, graders, packer.pool))
        yield from packer.close()
    yield table.close("table-of-cases")
    yield before.close("table-of-earlier")
    yield f"<script>{script()}</script>\n</body>\n</html>\n"


def _start(facts: ReportFacts, stamps: Mapping[str, str]) -> str:
    shown = overview(facts)
    return _template().render(
        **shown,
        policy=policy(),
        stamps=stamps,
        style=Markup(_asset("page.css")),  # noqa: S704 - our own file
        link=link,
    )


def policy() -> str:
    """Return the page's content security policy: its own style and script, told by their hashes, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script())}'",
            f"style-src '{_hash(_asset('page.css'))}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def script() -> str:
    """Return the page's script."""
    parts = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


@cache
def _asset(name: str) -> str:
    return (files("spancheck_pipeline.report.html") / "assets" / name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters |= {
        "visible": visible,
        "usd": wording.usd,
        "ms": wording.milliseconds,
        "number": wording.number,
        "count": wording.count,
    }
    return environment.from_string(_asset("page.html.j2"))


def _about(head: AuditHead, graders: Sequence[str]) -> dict[str, Any]:
    """Return what the script needs besides the rows: names, and which cases came out otherwise than in a baseline."""
    card = head.summary
    return {
        "suite": head.suite,
        "where": head.date or head.run_id,
        "graders": graders,
        "epochs": card.epochs,
        "why": {reason: list(ids) for reason, ids in card.attributions.items()},
        "baselines": [_flips(item) for item in beside(head.comparisons)],
    }


def _flips(baseline: Beside) -> dict[str, Any]:
    return {
        "kind": baseline.kind,
        "label": baseline.label,
        "where": baseline.where,
        "flips": {
            name: {
                "failing": list(figures.newly_failing_case_ids),
                "passing": list(figures.newly_passing_case_ids),
                "unmeasured": list(figures.newly_unmeasured_case_ids),
                "flaky": list(figures.flaky_flip_case_ids),
            }
            for name, figures in baseline.comparison.graders.items()
        },
    }
