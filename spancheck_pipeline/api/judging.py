"""Asking judges: what the graders of a place need to know, captured once, kept for all nights and suites.

What the graders need lives in ``judge_needs.py``, asking one judge in ``judge_session.py``, where answers are kept in
``storage/verdicts.py``.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spancheck_pipeline.api.judge_needs import asked_judges, needed_judges, needs_of
from spancheck_pipeline.api.judge_session import JudgeSession, LoadJudge
from spancheck_pipeline.api.spending import Spending
from spancheck_pipeline.capture.containment import Contain
from spancheck_pipeline.capture.engine import Progress
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.judges import JudgeSettings
from spancheck_pipeline.errors import TargetError, UsageError
from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.evidence.run import Manifest
from spancheck_pipeline.evidence.verdict import NO_VERDICTS, VerdictBook, VerdictKey
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.grading.judge import Judge
from spancheck_pipeline.storage.judges_file import DeclaredJudges
from spancheck_pipeline.storage.store import Place, Published, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, JUDGE_VERDICTS
from spancheck_pipeline.storage.verdicts import verdict_from_row, verdict_to_row

if TYPE_CHECKING:
    from pathlib import Path


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
        session = JudgeSession(store, judge, settings, packets, spending)
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
    needs = list(needs_of(store, place, graders))
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


def _by_judge(wanted: Iterable[tuple[Judge, Packet]]) -> list[tuple[Judge, list[Packet]]]:
    """Return the distinct packets of every judge that is asked, in order."""
    judges: dict[str, Judge] = {}
    packets: dict[str, dict[str, Packet]] = {}
    for top, packet in wanted:
        for judge in top.asked:
            judges.setdefault(judge.name, judge)
            packets.setdefault(judge.name, {}).setdefault(packet.digest, packet)
    return [(judge, list(packets[name].values())) for name, judge in judges.items()]


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
