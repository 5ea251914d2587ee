"""Asking judges: what the graders of a place need to know, captured once, kept for all nights and suites.

A judge call goes through the same capture as a target's: journal, resume, retries, limits. What goes into a packet
lives in ``evidence/packet.py``, what a reply means in ``grading/judge.py``, where answers are kept in
``storage/verdicts.py``.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from spancheck_pipeline.api.capturing import Contain, kept_away, new_run_id
from spancheck_pipeline.api.snapshot import read_snapshot
from spancheck_pipeline.api.spending import Spending
from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.engine import Progress, run_capture
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.judges import JudgeSettings
from spancheck_pipeline.errors import MissingDataError, TargetError, UsageError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.packet import PACKET_VERSION, Packet
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, Output, Prices, TargetFacts, Usage, cost_usd
from spancheck_pipeline.evidence.verdict import NO_VERDICTS, Verdict, VerdictBook, VerdictKey
from spancheck_pipeline.grading.evaluate import packets_of
from spancheck_pipeline.grading.grader import Evidence, Grader
from spancheck_pipeline.grading.judge import Judge, prompt_named
from spancheck_pipeline.storage.journal import JournalHeader
from spancheck_pipeline.storage.judges_file import DeclaredJudges
from spancheck_pipeline.storage.lock import CaptureLock, waited_for
from spancheck_pipeline.storage.store import Place, Published, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, JUDGE_VERDICTS, captured_from_row
from spancheck_pipeline.storage.verdicts import keep, kept, verdict_from_row, verdict_to_row

if TYPE_CHECKING:
    from pathlib import Path

_JOURNAL: Final = "verdicts"
_WAIT_S: Final = 3600.0
"""Seconds that one process waits for another that asks the same judge."""

LoadJudge = Callable[[Judge, JudgeSettings], LoadedTarget]
"""Makes a judge callable as a target of packets (``clients/judge_target.py``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What became of asking judges. Counts, and the verdicts by key."""

    book: VerdictBook
    n_wanted: int
    """Verdicts that were needed: packets × repeats × members of panels."""
    n_kept: int
    """Of these, answers that were there already."""
    n_calls: int
    """Calls made now, repeated attempts included."""
    failures: dict[str, int] = field(default_factory=dict)
    """Needed verdicts that there are not, by error class."""
    cost_usd: float | None = None
    """What the verdicts cost that were made now; None where a price is not known."""
    warnings: tuple[str, ...] = ()

    @property
    def n_failed(self) -> int:
        """Needed verdicts that there are not."""
        return sum(self.failures.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPlace:
    """What became of a place's verdicts."""

    published: Published
    judged: Judged

    def warnings(self, place: str) -> tuple[str, ...]:
        """Return what a person should know of it: counts and error classes."""
        if not self.judged.n_failed:
            return self.judged.warnings
        classes = ", ".join(f"{name} {n}" for name, n in self.judged.failures.items())
        failed = f"{place}: {self.judged.n_failed} of {self.judged.n_wanted} verdicts failed ({classes})"
        return (*self.judged.warnings, f"{failed}; they are unmeasured, and asked for again by the next run")


def judge_packets(
    store: Store,
    declared: DeclaredJudges,
    wanted: Iterable[tuple[Judge, Packet]],
    *,
    load_judge: LoadJudge | None = None,
    contain: Contain | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    limit_usd: float | None = None,
    spent_usd: float = 0.0,
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
) -> Judged:
    """Return the verdicts of judges about packets: those that are kept, and the others asked for, once.

    An answer is kept for all later nights and suites; a failure is returned and not kept. A run that was killed goes on
    with every finished call. With ``limit_usd`` no further call is made once what was spent before (``spent_usd``) and
    the verdicts of now have cost more.

    Raises:
        BudgetError: when the limit is passed, or a call's cost is not known; everything recorded is kept.
        LockedError: when another process asks the same judge for longer than an hour.
        TargetError: when a judge cannot be loaded.
        UsageError: for a judge that is not declared.
    """
    asked = _by_judge(wanted)
    book, failures = VerdictBook(), Counter[str]()
    n_wanted = n_kept = n_calls = 0
    costs: list[float | None] = []
    warnings: list[str] = []
    for judge, packets in asked:
        if judge.name not in declared.settings:
            raise UsageError(f"the judge {judge.name!r} is not declared in judges.yaml")
        settings = declared.settings[judge.name]
        spending = None if limit_usd is None else Spending(settings.prices, limit_usd, spent_usd=spent_usd)
        session = _Session(store, judge, settings, packets, spending)
        load = _placed(load_judge or _loader(declared.folder), declared)
        made = session.run(load, contain=contain, on_progress=on_progress, now=now)
        spent_usd = spending.spent_usd if spending else spent_usd
        for verdict in (*made.kept, *made.asked):
            book.add(verdict)
        n_wanted += len(session.keys)
        n_kept += len(made.kept)
        n_calls += made.n_calls
        costs += [verdict.cost_usd for verdict in made.asked if verdict.is_answer]
        warnings += made.warnings
        failures.update(v.error_class or "" for v in made.asked if not v.is_answer)
    return Judged(
        book=book,
        n_wanted=n_wanted,
        n_kept=n_kept,
        n_calls=n_calls,
        failures=dict(sorted(failures.items())),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        warnings=tuple(warnings),
    )


def judge_place(
    store: Store,
    place: Place,
    graders: Sequence[Grader],
    declared: DeclaredJudges,
    *,
    load_judge: LoadJudge | None = None,
    contain: Contain | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    limit_usd: float | None = None,
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
) -> JudgedPlace:
    """Ask what the graders of a captured place need to know, and publish the verdicts that they will read.

    What was asked before, on any night and in any suite, is not asked again. ``limit_usd`` is for the captured answers
    and these verdicts together.

    Raises:
        BudgetError, LockedError, TargetError: as ``judge_packets``.
    """
    captured, snapshot = store.open(place, CAPTURED_RUN), store.open(place, CASES)
    needs = list(_needs(store, place, graders))
    judged = judge_packets(
        store,
        declared,
        ((need.judge, need.packet) for need in needs),
        load_judge=load_judge,
        contain=contain,
        on_progress=on_progress,
        limit_usd=limit_usd,
        spent_usd=Manifest.model_validate(captured.document()).cost_usd or 0.0,
        now=now,
    )
    uses: dict[VerdictKey, set[tuple[str, str, int]]] = {}
    for need in needs:
        for key in need.judge.keys(need.packet):
            uses.setdefault(key, set()).add(need.use)
    verdicts = sorted(judged.book, key=lambda verdict: (verdict.judge, *verdict.key))
    published = store.publish(
        place,
        JUDGE_VERDICTS,
        (verdict_to_row(verdict, sorted(uses[verdict.key])) for verdict in verdicts),
        identity={
            "captured_run": captured.content_digest,
            "cases": snapshot.content_digest,
            "judges": {judge.name: judge.identity for judge in asked_judges(graders)},
        },
        metadata={"run_id": captured.run_id, "suite": place.suite},
    )
    return JudgedPlace(published=published, judged=judged)


def verdicts_at(store: Store, place: Place, graders: Iterable[Grader]) -> VerdictBook:
    """Return the recorded verdicts of a place, where one of the graders reads any and there are some."""
    if not needed_judges(graders) or not store.exists(place, JUDGE_VERDICTS):
        return NO_VERDICTS
    return VerdictBook(map(verdict_from_row, store.open(place, JUDGE_VERDICTS).rows()))


def verdicts_digest(store: Store, place: Place) -> str | None:
    """Return the content digest of a place's verdicts: what a judged score is made from; None where there are none."""
    return store.open(place, JUDGE_VERDICTS).content_digest if store.exists(place, JUDGE_VERDICTS) else None


def needed_judges(graders: Iterable[Grader]) -> tuple[Judge, ...]:
    """Return every judge that some graders read verdicts of, once, in their order."""
    judges = (judge for grader in graders for judge in getattr(grader, "judges", ()))
    return tuple({judge.name: judge for judge in judges}.values())


def missing_verdicts(graders: Iterable[Grader], evidence: Iterable[Evidence]) -> dict[str, int]:
    """Return per grader how many verdicts it would need of some evidence and does not find there."""
    graders = tuple(graders)
    missing: dict[str, set[VerdictKey]] = {}
    for item in evidence:
        for grader in graders:
            for judge, packet in packets_of(grader, item):
                absent = (key for key in judge.keys(packet) if item.verdicts.get(key) is None)
                missing.setdefault(grader.name, set()).update(absent)
    return {name: len(keys) for name, keys in missing.items() if keys}


def unstable_cases(store: Store, place: Place, graders: Sequence[Grader]) -> dict[str, frozenset[str]]:
    """Return per grader the cases of a place about which a judge of it contradicts itself over its repeats."""
    judges = {grader.name: tuple(getattr(grader, "judges", ())) for grader in graders}
    book = verdicts_at(store, place, graders)
    if not len(book):
        return {}
    found: dict[str, set[str]] = {}
    for row in store.open(place, JUDGE_VERDICTS).rows(["packet_digest", "uses"]):
        for use in row["uses"]:
            opinions = (judge.opinion_on(row["packet_digest"], book) for judge in judges.get(use["grader"], ()))
            if any(opinion.is_stable is False for opinion in opinions):
                found.setdefault(use["grader"], set()).add(use["case_id"])
    return {grader: frozenset(cases) for grader, cases in found.items()}


class _Need(NamedTuple):
    """A packet that a grader wants a judge's verdict about, and for which output."""

    judge: Judge
    packet: Packet
    use: tuple[str, str, int]


def _needs(store: Store, place: Place, graders: Sequence[Grader]) -> Iterator[_Need]:
    cases = {case.id: case for case in read_snapshot(store, place)}
    for cells in store.open(place, CAPTURED_RUN).rows():
        row = captured_from_row(cells)
        if row.output is None:
            continue
        evidence = Evidence(case=cases[row.case_id], output=row.output, row=row)
        for grader in graders:
            for judge, packet in packets_of(grader, evidence):
                yield _Need(judge, packet, (grader.name, row.case_id, row.epoch))


def needed_packets(store: Store, place: Place, graders: Sequence[Grader]) -> Iterator[tuple[Judge, Packet]]:
    """Yield what graders want to know of which judge about a captured place; the same may come twice."""
    return ((need.judge, need.packet) for need in _needs(store, place, graders))


def asked_judges(graders: Iterable[Grader]) -> tuple[Judge, ...]:
    """Return the judges that are really asked for some graders: a panel's members in its place."""
    return tuple({judge.name: judge for top in needed_judges(graders) for judge in top.asked}.values())


def _by_judge(wanted: Iterable[tuple[Judge, Packet]]) -> list[tuple[Judge, list[Packet]]]:
    """Return the distinct packets of every judge that is asked, in order."""
    judges: dict[str, Judge] = {}
    packets: dict[str, dict[str, Packet]] = {}
    for top, packet in wanted:
        for judge in top.asked:
            judges.setdefault(judge.name, judge)
            packets.setdefault(judge.name, {}).setdefault(packet.digest, packet)
    return [(judge, list(packets[name].values())) for name, judge in judges.items()]


class _Made(NamedTuple):
    kept: tuple[Verdict, ...]
    asked: tuple[Verdict, ...]
    n_calls: int
    warnings: tuple[str, ...]


class _Session:
    """Asking one judge about some packets."""

    def __init__(
        self,
        store: Store,
        judge: Judge,
        settings: JudgeSettings,
        packets: Sequence[Packet],
        spending: Spending | None = None,
    ) -> None:
        self._spending = spending
        self._store = store
        self._judge = judge
        self._settings = settings
        self._packets = {packet.digest: packet for packet in packets}
        self.keys = [key for packet in packets for key in judge.keys(packet)]
        self._name = f"judge_verdicts/judge={judge.name}/identity={judge.identity[:16]}"

    def run(
        self,
        load_judge: LoadJudge,
        *,
        contain: Contain | None,
        on_progress: Callable[[Progress], None] | None,
        now: Callable[[], dt.datetime],
    ) -> _Made:
        with suppress(MissingDataError):  # segments were merged meanwhile: the lock tells
            found = self._kept()
            if not self._missing(found):
                return _Made(tuple(found.values()), (), 0, ())
        with kept_away(contain):
            target = load_judge(self._judge, self._settings)
        with waited_for(self._store.lock(self._name, "judge"), at_most_s=_WAIT_S) as lock:
            self._absorb(lock)
            found = self._kept()
            missing = self._missing(found)
            if not missing:
                return _Made(tuple(found.values()), (), 0, ())
            asked, n_calls, warnings = self._ask(
                target, missing, lock=lock, contain=contain, on_progress=on_progress, now=now()
            )
            return _Made(tuple(found.values()), asked, n_calls, warnings)

    def _kept(self) -> dict[VerdictKey, Verdict]:
        wanted = set(self.keys)
        return {v.key: v for v in kept(self._store, self._judge, self._packets) if v.key in wanted}

    def _missing(self, found: Mapping[VerdictKey, Verdict]) -> list[VerdictKey]:
        return [key for key in self.keys if key not in found]

    def _absorb(self, lock: CaptureLock) -> None:
        """Keep the answers of a session that was killed, whatever it was about, before another is begun."""
        header = self._store.journal_header(_JOURNAL, self._name)
        if header is None:
            return
        journal = self._store.journal(_JOURNAL, self._name, header, lock=lock)
        keep(self._store, self._judge, self._verdicts(journal.rows(sorted(journal.recorded_keys()))))
        journal.discard()

    def _ask(
        self,
        target: LoadedTarget,
        missing: Sequence[VerdictKey],
        *,
        lock: CaptureLock,
        contain: Contain | None,
        on_progress: Callable[[Progress], None] | None,
        now: dt.datetime,
    ) -> tuple[tuple[Verdict, ...], int, tuple[str, ...]]:
        rows = [(packet, repeat) for _, packet, repeat in missing]
        cases = [_as_case(self._packets[packet]) for packet in dict.fromkeys(packet for packet, _ in rows)]
        header = self._header(target.facts, len(cases), now)
        journal = self._store.journal(_JOURNAL, self._name, header, lock=lock)
        try:
            with self._store.output_log(self._name, "judge_output") as log, kept_away(contain, log):
                summary = run_capture(
                    cases,
                    target,
                    settings=_call_settings(self._settings),
                    epochs=self._judge.runs,
                    journal=journal,
                    keys=set(rows),
                    on_progress=on_progress,
                    stop=self._spending.add if self._spending else None,
                )
        except BaseException:
            journal.close()
            raise
        verdicts = tuple(self._verdicts(journal.rows(rows)))
        keep(self._store, self._judge, verdicts)
        journal.discard()
        return verdicts, summary.attempts, summary.warnings

    def _header(self, facts: TargetFacts, n_packets: int, now: dt.datetime) -> JournalHeader:
        return JournalHeader(
            run_id=new_run_id(self._judge.name, None),
            suite=self._judge.name,
            dataset_digest=digest([self._judge.identity, n_packets]),
            target=facts,
            epochs=self._judge.runs,
            started_at=now,
        )

    def _verdicts(self, rows: Iterable[CapturedRow]) -> Iterator[Verdict]:
        return (verdict_of(self._judge, row, self._settings.prices) for row in rows)


def verdict_of(judge: Judge, row: CapturedRow, prices: Prices) -> Verdict:
    """Return the verdict that a captured judge call is."""
    output = row.output or Output()
    said = output.raw if isinstance(output.raw, dict) else {}
    return Verdict.model_validate(
        {
            "judge": judge.name,
            "identity": judge.identity,
            "prompt": judge.prompt,
            "prompt_digest": judge.prompt_digest,
            "packet_kind": prompt_named(judge.prompt).kind,
            "packet_version": PACKET_VERSION,
            "packet_digest": row.case_id,
            "repeat": row.epoch,
            "model": judge.model,
            "served_model": output.served_model,
            "label": said.get("label"),
            "score": said.get("score"),
            "reason": said.get("reason"),
            "reply": output.answer if row.answered else None,
            "finish_reason": output.finish_reason or _finish_reason(row),
            "latency_ms": row.latency_ms,
            "attempts": row.attempts,
            "usage": output.usage if row.answered else Usage(),
            "cost_usd": cost_usd(output, prices) if row.answered else None,
            "error_class": row.error_class,
            "judged_at": row.finished_at,
        }
    )


def _finish_reason(row: CapturedRow) -> str:
    if row.error_class is None:
        return "unreported"
    return "timeout" if "Timeout" in row.error_class else "error"


def _as_case(packet: Packet) -> Case:
    """Return a packet as what a capture asks: its digest is the id, so that the journal names it."""
    return Case(id=packet.digest, input=packet.as_dict())


def _call_settings(settings: JudgeSettings) -> CaptureSettings:
    return CaptureSettings(
        concurrency=settings.concurrency,
        timeout_s=settings.call_timeout_s,
        retries=settings.retries,
        backoff_s=settings.backoff_s,
        rate_limit_per_minute=settings.rate_limit_per_minute,
    )


def _loader(folder: Path) -> LoadJudge:
    def load(judge: Judge, settings: JudgeSettings) -> LoadedTarget:
        from spancheck_pipeline.clients.judge_target import load_judge_target

        return load_judge_target(judge, settings, folder=folder)

    return load


def _placed(load_judge: LoadJudge, declared: DeclaredJudges) -> LoadJudge:
    """Return the same, whose errors say where the judge is declared; changed code is refused."""

    def load(judge: Judge, settings: JudgeSettings) -> LoadedTarget:
        declared.check_code(judge.name)
        try:
            return load_judge(judge, settings)
        except TargetError as error:
            raise TargetError(f"{declared.where(judge.name)}: {error}") from None

    return load


__all__ = [
    "Judged", "JudgedPlace", "asked_judges", "judge_packets", "judge_place", "missing_verdicts", "needed_judges",
    "needed_packets", "unstable_cases", "verdict_of",
    "verdicts_at", "verdicts_digest",
]  # fmt: skip
