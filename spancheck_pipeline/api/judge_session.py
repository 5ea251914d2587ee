"""Asking one judge about some packets: what is kept already, what is missing, one capture of that.

A judge call goes through the same capture as a target's: journal, resume, retries, limits. Which packets are asked
about lives in ``judging.py``, where answers are kept in ``storage/verdicts.py``, what a reply means in
``grading/judge.py``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from spancheck_pipeline.api.capture_begin import new_run_id
from spancheck_pipeline.api.spending import Spending
from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.containment import Contain, kept_away
from spancheck_pipeline.capture.engine import Progress, run_capture
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.judges import JudgeSettings
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.packet import PACKET_VERSION, Packet
from spancheck_pipeline.evidence.run import CapturedRow, Output, Prices, TargetFacts, Usage, cost_usd
from spancheck_pipeline.evidence.verdict import Verdict, VerdictKey
from spancheck_pipeline.grading.judge import Judge, prompt_named
from spancheck_pipeline.storage.journal import JournalHeader
from spancheck_pipeline.storage.lock import CaptureLock, waited_for
from spancheck_pipeline.storage.store import Store
from spancheck_pipeline.storage.verdicts import keep, kept

_JOURNAL: Final = "verdicts"

_WAIT_S: Final = 3600.0
"""Seconds that one process waits for another that asks the same judge."""

LoadJudge = Callable[[Judge, JudgeSettings], LoadedTarget]
"""Makes a judge callable as a target of packets (``clients/judge_target.py``)."""


class Asked(NamedTuple):
    """What a session came to."""

    kept: tuple[Verdict, ...]
    """Answers that were there already."""
    asked: tuple[Verdict, ...]
    """Verdicts that were made now, failed ones among them."""
    n_calls: int
    warnings: tuple[str, ...]


class JudgeSession:
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
    ) -> Asked:
        """Ask for what is not kept, once, while no other process asks this judge.

        Raises:
            BudgetError, LockedError, TargetError: as ``judge_packets``.
        """
        with suppress(MissingDataError):  # segments were merged meanwhile: the lock tells
            found = self._kept()
            if not self._missing(found):
                return Asked(tuple(found.values()), (), 0, ())
        with kept_away(contain):
            target = load_judge(self._judge, self._settings)
        with waited_for(self._store.lock(self._name, "judge"), at_most_s=_WAIT_S) as lock:
            self._absorb(lock)
            found = self._kept()
            missing = self._missing(found)
            if not missing:
                return Asked(tuple(found.values()), (), 0, ())
            asked, n_calls, warnings = self._ask(
                target, missing, lock=lock, contain=contain, on_progress=on_progress, now=now()
            )
            return Asked(tuple(found.values()), asked, n_calls, warnings)

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
