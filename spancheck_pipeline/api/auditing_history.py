"""Every decision that was made about a place: who, when, on which grader specs, and what had changed since the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spancheck_pipeline.api.audit_logs import read_seals
from spancheck_pipeline.api.dispositions import batches_of
from spancheck_pipeline.api.erased import gone_dates
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.storage.store import Place, Store, StoredFile
from spancheck_pipeline.storage.tables import (
    AUDIT_LOG,
    CAPTURED_RUN,
    CASES,
    COMPARISON,
    GATE,
    JUDGE_VERDICTS,
    SCORECARD,
    SCORES,
    Table,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderThen:
    """A grader as it was when a decision was made."""

    version: str
    spec_digest: str
    spec: dict[str, object] | None
    """The whole readable spec; None where its scores are not kept any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDecision:
    """One decision about a place."""

    decision: GateDecision
    graders: dict[str, GraderThen]
    """Grader → what made the scores that the decision rests on."""
    head: str | None
    """Head of its audit log's chain; None where the log was never written or sealed."""
    is_recorded: bool
    """Whether its audit log is kept, so that it can be exported as it was decided."""
    missing_before: tuple[int, ...]
    """Numbers of the decisions that were made between the one before it that is kept and this one, and are gone."""
    changes: tuple[str, ...]
    """What it rests on otherwise than the decision before, a sentence each, without text; empty for the first one, and
    where everything is as it was."""


def decision_history(store: Store, place: Place) -> tuple[PastDecision, ...]:
    """Return every kept decision about a place, the first one first.

    Raises:
        MissingDataError: when there is none.
    """
    gates = store.revisions(place, GATE)
    if not gates:
        store.open(place, GATE)  # says which nights there are
    logs = {file.metadata.get("gate"): file for file in store.revisions(place, AUDIT_LOG)}
    found: list[PastDecision] = []
    for gate in gates:
        before = found[-1] if found else None
        found.append(_past(store, place, gate, logs.get(gate.content_digest), before))
    return tuple(found)


def decided_dates(store: Store, suite: str) -> tuple[str, ...]:
    """Return the dates on which a suite has a decision, in order; none where all of them are gone.

    Raises:
        MissingDataError: when there never was one.
    """
    found = store.dates(suite, GATE)
    if found or gone_dates(store, suite):
        return found
    raise MissingDataError(f"{suite}: no decision is stored on any date; `spancheck nightly {suite}` makes one")


def _past(
    store: Store, place: Place, gate: StoredFile, log: StoredFile | None, before: PastDecision | None
) -> PastDecision:
    decision = GateDecision.model_validate(gate.document())
    sealed = read_seals(store, place, log) if log else None
    graders = {
        name.partition("/")[2]: _then(store, place, name.partition("/")[2], digest)
        for name, digest in decision.inputs.items()
        if name.startswith(f"{SCORES.name}/")
    }
    changes = _Changes(store, place, before.decision, decision) if before else None
    first = 1 + (before.decision.revision or 0) if before else 1
    return PastDecision(
        decision=decision,
        graders=graders,
        head=sealed.seal.head if sealed else None,
        is_recorded=log is not None,
        missing_before=tuple(range(first, gate.revision)),
        changes=(*changes.of_evidence(), *_of_graders(before.graders, graders), *changes.of_rules())
        if before and changes
        else (),
    )


class _Changes:
    """What two decisions about one place rest on, laid side by side."""

    def __init__(self, store: Store, place: Place, before: GateDecision, now: GateDecision) -> None:
        self._store = store
        self._place = place
        self._before = before
        self._now = now

    def of_evidence(self) -> Iterator[str]:
        """Yield what became of the capture, the labels and the verdicts."""
        if self._differs(CAPTURED_RUN.name):
            then, now = self._before.run_id, self._now.run_id
            yield f"captured again: run {then} → {now}" if then != now else "calls were made again in the same run"
        if self._differs(CASES.name):
            yield from self._of_cases()
        if self._differs(JUDGE_VERDICTS.name):
            yield "other verdicts of judges"

    def of_rules(self) -> Iterator[str]:
        """Yield what became of the calibrations, the dispositions, the gate's settings and the baselines."""
        for name in sorted({*self._before.inputs, *self._now.inputs}):
            if name.startswith("calibration/") and self._differs(name):
                what = "another calibration" if name in self._before.inputs else "a calibration, where none was,"
                yield f"{what if name in self._now.inputs else 'no calibration any more'} of {name.partition('/')[2]}"
        then, now = self._dispositions(self._before), self._dispositions(self._now)
        if then != now:
            yield "other dispositions of reviewers" if then else "dispositions of reviewers, where none were"
        if self._before.settings != self._now.settings:
            yield "other rules of the gate"
        if self._baselines(self._before) != self._baselines(self._now):
            yield "other baselines"

    def _differs(self, name: str) -> bool:
        return self._before.inputs.get(name) != self._now.inputs.get(name)

    def _of_cases(self) -> Iterator[str]:
        then, now = self._labels(self._before), self._labels(self._now)
        if then is None or now is None:
            yield "other cases or labels (a snapshot is not kept any more)"
            return
        shared = then.keys() & now.keys()
        counts = {
            "relabelled": sum(then[case] != now[case] and then[case][0] == now[case][0] for case in shared),
            "asked otherwise": sum(then[case][0] != now[case][0] for case in shared),
            "added": len(now.keys() - then.keys()),
            "removed": len(then.keys() - now.keys()),
        }
        for what, n in counts.items():
            if n:
                yield f"{n} {'case' if n == 1 else 'cases'} {what}"

    def _labels(self, decision: GateDecision) -> dict[str, tuple[str, str]] | None:
        file = self._file(CASES, decision.inputs.get(CASES.name))
        columns = ["case_id", "question_digest", "label_digest"]
        if file is None:
            return None
        return {row["case_id"]: (row["question_digest"], row["label_digest"]) for row in file.rows(columns)}

    def _dispositions(self, decision: GateDecision) -> dict[str, Any]:
        file = self._file(SCORECARD, decision.inputs.get(SCORECARD.name))
        return {} if file is None else batches_of(file.document().get("inputs", {}))

    def _baselines(self, decision: GateDecision) -> list[tuple[Any, ...]]:
        file = self._file(COMPARISON, decision.inputs.get(COMPARISON.name))
        if file is None:
            return []
        return sorted((item["baseline_kind"], str(item.get("baseline"))) for item in file.document()["comparisons"])

    def _file(self, table: Table, content_digest: str | None) -> StoredFile | None:
        try:
            return self._store.open_by_digest(self._place, table, content_digest or "")
        except MissingDataError:
            return None


def _of_graders(before: Mapping[str, GraderThen], now: Mapping[str, GraderThen]) -> Iterator[str]:
    unknown = [name for name in now if name in before and (before[name].spec is None or now[name].spec is None)]
    if unknown:  # pruned nights: one sentence, not one a grader
        yield f"whether graders changed is not known of {len(unknown)} of them: their scores are not kept"
    for name in dict.fromkeys([*before, *now]):
        then, today = before.get(name), now.get(name)
        if then is None or today is None:
            yield f"grader {name} {'added' if then is None else 'removed'}"
        elif name not in unknown and then.spec_digest != today.spec_digest:
            yield f"grader {name} changed: {_spec_change(then, today)}"


def _spec_change(then: GraderThen, now: GraderThen) -> str:
    """Return old → new of a grader, by version and spec, with the names of what is another."""
    parts = [f"spec {then.spec_digest[:12]} → {now.spec_digest[:12]}"]
    if then.version != now.version:
        parts.insert(0, f"version {then.version} → {now.version}")
    old, new = _settings(then), _settings(now)
    names = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    if names:
        parts.append(f"settings {', '.join(names)}")
    return "; ".join(parts)


def _settings(grader: GraderThen) -> Mapping[str, Any]:
    found = (grader.spec or {}).get("settings")
    return found if isinstance(found, Mapping) else {}


def _then(store: Store, place: Place, grader: str, content_digest: str) -> GraderThen:
    try:
        file = store.open_by_digest(place, SCORES, content_digest, grader)
    except MissingDataError:
        return GraderThen(version="not kept", spec_digest="", spec=None)
    spec = file.grader_spec
    return GraderThen(version=str(spec["version"]), spec_digest=file.metadata["spec_digest"], spec=spec)
