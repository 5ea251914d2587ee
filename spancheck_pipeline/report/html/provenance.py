"""Where a record comes from and how it can be checked: the last part of the page, and the decisions about the place.

Digests and names are those of the record; nothing is computed here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spancheck_pipeline.decision.audit import AuditHead
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.evidence.run import Manifest
from spancheck_pipeline.report.html import wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealing:
    """What a reader needs to check that the audit log is the one that this page was made from."""

    content_digest: str
    """Of the audit log's file."""
    head: str | None = None
    """Head of its chain; None for a log that was never sealed."""
    n_records: int = 0


def provenance(head: AuditHead, sealing: Sealing | None) -> list[tuple[str, str]]:
    """Return the facts of the table, each with its label."""
    rows: list[tuple[str, object]] = [
        ("run id", head.run_id),
        ("audit log, schema", head.schema_version),
        ("spancheck-pipeline", head.package_version),
        *(_captured(head.manifest) if head.manifest else ()),
    ]
    if head.decision:
        rows.append(("digest of the scorecard", head.decision.scorecard_digest))
        rows += [("note of the decision", head.decision.note)] if head.decision.note else []
    rows += [(f"content of {name}", value) for name, value in head.inputs.items()]
    if sealing:
        rows.append(("content of audit_log", sealing.content_digest))
    return [(label, str(value)) for label, value in rows]


def _captured(manifest: Manifest) -> Iterator[tuple[str, object]]:
    yield "captured from", manifest.started_at.isoformat(timespec="seconds")
    yield "to", manifest.finished_at.isoformat(timespec="seconds")
    yield "target", f"{manifest.target.kind} {manifest.target.reference}"
    yield "target version", manifest.target.version or "not stated"
    yield "git commit", manifest.git_commit or "not known"
    yield "digest of the cases", manifest.dataset_digest


def check_command(head: AuditHead, sealing: Sealing | None, *, is_latest: bool = True) -> str | None:
    """Return the command that checks the stored log against the head of this page; None where there is no head."""
    if sealing is None or sealing.head is None:
        return None
    place = [head.suite, head.date] if head.date else [f"run:{head.run_id}"]
    which = ["--as-decided", str(head.decision.revision)] if not is_latest and head.decision else []
    return shlex.join(["spancheck", "audit", "verify", *place, *which, "--head", sealing.head])


def decisions_about(head: AuditHead, decisions: Sequence[GateDecision]) -> dict[str, Any] | None:
    """Return every decision about the place, and a sentence where the page's own is not the only one; None without."""
    shown = head.decision.revision if head.decision else None
    if shown is None or len(decisions) < 2:  # noqa: PLR2004 - the one that is shown, and another
        return None
    earlier = [item for item in decisions if (item.revision or 0) < shown]
    later = [item for item in decisions if (item.revision or 0) > shown]
    return {"sentence": _sentence(earlier, later), "rows": [_row(item, head) for item in decisions]}


def _sentence(earlier: Sequence[GateDecision], later: Sequence[GateDecision]) -> str:
    said = []
    if earlier:
        before = wording.count(len(earlier), "decision was", "decisions were")
        which = "it" if len(earlier) == 1 else "the last of them"
        said.append(f"This is not the first decision: {before} made before it; {which} said {_answer(earlier[-1])}.")
    if later:
        opening = "It is not the latest either" if earlier else "This is not the latest decision"
        said.append(f"{opening}: decision {later[-1].revision} says {_answer(later[-1])}.")
    return " ".join(said)


def _row(decision: GateDecision, head: AuditHead) -> dict[str, Any]:
    return {
        "number": decision.revision,
        "answer": _answer(decision),
        "kind": decision.answer.value.lower(),
        "at": decision.decided_at.strftime("%Y-%m-%d %H:%M UTC") if decision.decided_at else wording.NONE,
        "by": decision.decided_by or wording.NONE,
        "note": decision.note,
        "other_run": None if decision.run_id == head.run_id else decision.run_id,
        "is_shown": head.decision is not None and decision.revision == head.decision.revision,
    }


def _answer(decision: GateDecision) -> str:
    return decision.answer.value.replace("_", " ")
