"""What scoring stale nights again has changed: outcomes before and after, decisions before and after, and no text.

Finding stale nights lives in ``staleness.py``; walking them in one Dagster run in ``defs/rescore.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from spancheck_pipeline.api.staleness import StaleNight
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.grading.judge import MISSING
from spancheck_pipeline.storage.store import Night, Store, StoredFile
from spancheck_pipeline.storage.tables import GATE, SCORES

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class OutcomeChange(BaseModel):
    """Rows of one grader whose outcome became another one."""

    model_config = _FROZEN

    before: str | None
    """None where the row had no score."""
    after: str
    n: int
    """Rows: cases × epochs."""
    case_ids: tuple[str, ...]
    """Each once, in the order of the night."""


class GraderChanges(BaseModel):
    """What another grader spec did to the scores of one night."""

    model_config = _FROZEN

    grader: str
    version_before: str | None
    """None where there were no scores."""
    version: str
    n_rows: int
    n_changed: int
    """Rows with another outcome."""
    n_values_changed: int
    """Rows with the same outcome and another value."""
    n_missing_verdicts: int = 0
    """Rows that are unmeasured because a judge was never asked about them; a rescore does not ask."""
    changes: tuple[OutcomeChange, ...] = ()


class NightRescored(BaseModel):
    """What became of one night."""

    model_config = _FROZEN

    suite: str
    date: str
    graders: tuple[GraderChanges, ...] = ()
    """Those that were scored again."""
    decision_before: str | None = None
    decision: str | None = None
    decision_revision: int | None = None
    """None where the night failed before it was decided."""
    problem: str = ""
    """Why it could not be scored again; it is still stale."""


class LeftOut(BaseModel):
    """A suite that cannot be read."""

    model_config = _FROZEN

    suite: str
    problem: str


class Rescored(BaseModel):
    """What one rescore did, or would do. Counts, ids, versions."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    is_dry_run: bool
    target_calls: Literal[0] = 0
    """Scoring reads what was captured; there is no way to a target from it."""
    nights: tuple[NightRescored, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    """Suites that were meant and cannot be read: whether their nights are stale is not known."""
    n_others: int | None = None
    """Stale nights that were not chosen; counted only where nothing that was chosen is stale."""

    @property
    def n_partitions(self) -> int:
        """Score partitions that were made again: graders × nights."""
        return sum(len(night.graders) for night in self.nights)

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be scored again: one sentence a night, and one a suite that cannot be read."""
        nights = (f"{night.suite} on {night.date}: {night.problem}" for night in self.nights if night.problem)
        return (*nights, *(f"the suite {item.suite!r} cannot be read: {item.problem}" for item in self.left_out))

    def totals(self) -> tuple[OutcomeTotal, ...]:
        """Return the changes of outcome over all nights, by suite and grader."""
        found: dict[tuple[str, str, str | None, str], list[OutcomeChange]] = defaultdict(list)
        for night in self.nights:
            for grader in night.graders:
                for change in grader.changes:
                    found[night.suite, grader.grader, change.before, change.after].append(change)
        return tuple(
            OutcomeTotal(
                suite=suite,
                grader=grader,
                before=before,
                after=after,
                n=sum(change.n for change in changes),
                n_nights=len(changes),
                case_ids=tuple(dict.fromkeys(case for change in changes for case in change.case_ids)),
            )
            for (suite, grader, before, after), changes in found.items()
        )

    def other_decisions(self) -> tuple[NightRescored, ...]:
        """Return the nights about which the gate says something else now."""
        return tuple(
            night for night in self.nights if night.decision is not None and night.decision != night.decision_before
        )


class OutcomeTotal(OutcomeChange):
    """Rows of one grader whose outcome became another one, over many nights."""

    suite: str
    grader: str
    n_nights: int


def planned(
    stale: Iterable[StaleNight], store: Store, *, left_out: tuple[LeftOut, ...] = (), n_others: int | None = None
) -> Rescored:
    """Return what scoring stale nights again would touch, without touching it."""
    nights = tuple(
        NightRescored(
            suite=item.night.suite,
            date=item.night.date,
            graders=tuple(_untouched(store, item.night, name) for name in item.graders),
            decision_before=decision_of(store, item.night)[0],
            problem=item.problem,
        )
        for item in stale
    )
    return Rescored(is_dry_run=True, nights=nights, left_out=left_out, n_others=n_others)


def _untouched(store: Store, night: Night, grader: str) -> GraderChanges:
    file = score_file(store, night, grader)
    version = str(file.grader_spec["version"]) if file else None
    n_rows = file.n_rows if file else 0
    return GraderChanges(
        grader=grader, version_before=version, version="", n_rows=n_rows, n_changed=0, n_values_changed=0
    )


def score_file(store: Store, night: Night, grader: str) -> StoredFile | None:
    """Return the current scores of a grader, where there are any."""
    return store.open(night, SCORES, grader) if store.exists(night, SCORES, grader) else None


Outcomes = dict[tuple[str, int], tuple[str, float | None]]
"""(case id, epoch) → outcome and value."""


def outcomes_of(file: StoredFile | None) -> Outcomes:
    """Return the outcomes of a score file; none where there is no file."""
    if file is None:
        return {}
    rows = file.rows(["case_id", "epoch", "outcome", "value"])
    return {(row["case_id"], row["epoch"]): (row["outcome"], row["value"]) for row in rows}


def changes_between(before: StoredFile | None, known: Outcomes, after: StoredFile, grader: str) -> GraderChanges:
    """Return what differs between the scores that stood there (``known``, read before they were replaced) and now."""
    found: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    n_values = n_rows = 0
    for key, (outcome, value) in outcomes_of(after).items():
        n_rows += 1
        was, value_was = known.get(key, (None, None))
        if was != outcome:
            found[was, outcome].append(key[0])
        elif value_was != value:
            n_values += 1
    return GraderChanges(
        grader=grader,
        version_before=str(before.grader_spec["version"]) if before else None,
        version=str(after.grader_spec["version"]),
        n_rows=n_rows,
        n_changed=sum(map(len, found.values())),
        n_values_changed=n_values,
        n_missing_verdicts=sum(row["reason_code"] == MISSING for row in after.rows(["reason_code"])),
        changes=tuple(
            OutcomeChange(before=was, after=now, n=len(ids), case_ids=tuple(dict.fromkeys(ids)))
            for (was, now), ids in found.items()
        ),
    )


def decision_of(store: Store, night: Night) -> tuple[str | None, int | None]:
    """Return what the latest decision about a night says, and its number; None where there is none."""
    if not store.exists(night, GATE):
        return None, None
    document = store.open(night, GATE).document()
    return str(document["answer"]), int(document["revision"])
