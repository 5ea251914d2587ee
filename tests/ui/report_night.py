"""Nights of a shipped demo suite and their reports, in this process and without Dagster."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from scenario import AT
from ui.dagster_ui import REPOSITORY

from spancheck_pipeline.api.audit_logs import open_audit_log, read_records
from spancheck_pipeline.api.promoting import promote_place
from spancheck_pipeline.api.reporting import report_place
from spancheck_pipeline.api.stored import run_place
from spancheck_pipeline.api.targets import load_target
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.decision.audit import AuditHead, AuditRecord
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import Night, Store

CARELESS = {"callable": "target.py:careless_answer", "version": "1.5.0-careless"}


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A night's report, and the record that it shows."""

    file: Path
    head: AuditHead
    records: tuple[AuditRecord, ...]

    def case(self, case_id: str) -> list[AuditRecord]:
        """Return the records of one case, epoch by epoch."""
        return [record for record in self.records if record.case.id == case_id]


def demo(folder: Path, name: str, targets: list[dict[str, Any]]) -> list[Reported]:
    """Take a demo suite through nights, each with some changes of its target; return their reports."""
    copy = folder / "datasets" / name
    shutil.copytree(REPOSITORY / "datasets" / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "datasets" / "judges.yaml", folder / "datasets")
    store = Store(folder / "storage")
    reported: list[Reported] = []
    for number, changes in enumerate(targets):
        write_target(copy / "suite.yaml", changes)
        loaded = load_suite(folder / "datasets", name, load_attribute)
        night = Night(name, (dt.date(2026, 3, 11) + dt.timedelta(days=number)).isoformat())
        decided = run_place(
            store,
            night,
            loaded.suite,
            load_cases(loaded.folder, loaded.suite.cases),
            graders=loaded.graders,
            load_target=lambda loaded=loaded: load_target(loaded.suite.target, suite_folder=loaded.folder),
            decided_by="ada",
            judges=loaded.judges,
        )
        if decided.decision.answer.is_ok:
            promote_place(store, night, at=AT, by="ada")
        made = report_place(store, night)
        records = tuple(read_records(open_audit_log(store, night)))
        reported.append(Reported(file=Path(made.page.path), head=made.head, records=records))
    return reported


def write_target(file: Path, changes: dict[str, Any]) -> None:
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    if changes:
        document["target"] = {**document["target"], **changes}
        document["target"].pop("version_from", None)
    file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
