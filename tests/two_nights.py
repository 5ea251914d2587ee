"""Two recorded nights of one suite, each decided twice, signed, promoted and pinned: all that a record can have."""

import csv
import datetime as dt
from pathlib import Path

from recorded_place import CASES, GRADERS, TARGET, suite

from spancheck_pipeline.api.promoting import pin_release, promote_place
from spancheck_pipeline.api.reviewing import export_review, import_review
from spancheck_pipeline.api.stored import grade_place, run_place
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.grading.graders import build_graders
from spancheck_pipeline.storage.store import Night, Store

A, B = Night("small", "2026-03-14"), Night("small", "2026-03-15")
NIGHTS = (A, B)


def two_nights(folder: Path) -> Store:
    """Return a storage with both."""
    store = Store(folder / "storage")
    for night in NIGHTS:
        # Each night answers in words of its own, so that no file of one is equal to the other's.
        target = TARGET.replace('if "3" in question', "if False").replace('"a": "2"', f'"a": {night.date!r}')
        (folder / "target.py").write_text(target)
        run_place(
            store, night, suite(min_pass_rate={"citation_accuracy": 0.55}), CASES, graders=build_graders(GRADERS),
            decided_by="me", load_target=lambda: load_target(suite().target, suite_folder=folder),
        )  # fmt: skip
        sign(store, night, folder / "review.csv", reason=f"Agreed on {night.date}.")
        regrade(store, night)
        promote_place(store, night, at=dt.datetime.now(dt.UTC), by="nightly")
        pin_release(store, night, at=dt.datetime.now(dt.UTC), by="A. Person", note="The first of them.")
    return store


def sign(store: Store, night: Night, path: Path, *, reason: str) -> None:
    """Let a person wave every failed citation through."""
    export_review(store, night, path)
    with path.open(encoding="utf-8-sig", newline="") as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        if row["grader"] == "citation_accuracy" and row["outcome"] == "fail":
            row |= {"disposition": "waived", "why": reason, "expires": "2099-12-31"}
    with path.open("w", encoding="utf-8", newline="") as handle:
        sheet = csv.DictWriter(handle, list(rows[0]))
        sheet.writeheader()
        sheet.writerows(rows)
    import_review(store, night, path, author="R. Viewer", signed_at=dt.datetime.now(dt.UTC))


def regrade(store: Store, night: Night, **gate) -> None:
    """Decide again about what is stored, as ``spancheck score --regrade`` does."""
    settings = gate or {"min_pass_rate": {"citation_accuracy": 0.5}}
    grade_place(store, night, suite(**settings), build_graders(GRADERS), decided_by="you")


__all__ = ["NIGHTS", "A", "B", "regrade", "sign", "two_nights"]
