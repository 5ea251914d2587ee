"""Asking: a grader's questions about one output, answered from recorded verdicts.

What a grader wants to know is what it would ask if it graded: the same code runs for both, so that no question is
forgotten and none is asked in vain. The judge itself lives in ``judge.py``; the graders in ``graders/``.
"""

from __future__ import annotations

from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.evidence.verdict import NO_VERDICTS, Verdicts
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.judge import Judge, Opinion, not_asked
from spancheck_pipeline.grading.score import Score
from spancheck_pipeline.grading.shipped import ShippedGrader

MOST_PACKETS = 200
"""Questions about one output that a grader asks at most: a hostile answer of a million sentences must not cost more."""


class Asking:
    """One judge, and what was recorded of it. It remembers what it was asked."""

    def __init__(self, judge: Judge, verdicts: Verdicts) -> None:
        self.judge = judge
        self._verdicts = verdicts
        self._packets: dict[str, Packet] = {}

    @property
    def packets(self) -> tuple[tuple[Judge, Packet], ...]:
        """Every packet that was asked about, once, with the judge."""
        return tuple((self.judge, packet) for packet in self._packets.values())

    def opinion(self, packet: Packet) -> Opinion:
        """Return what the recorded verdicts come to."""
        if packet.digest not in self._packets:
            if len(self._packets) >= MOST_PACKETS:
                return not_asked(self.judge, f"this is more than the {MOST_PACKETS} questions about one answer")
            self._packets[packet.digest] = packet
        return self.judge.opinion(packet, self._verdicts)


class JudgedGrader(ShippedGrader):
    """A shipped grader that may leave a part of its question to a judge."""

    def judge_asked(self) -> Judge | None:
        """Return the judge that its settings name; None where they name none."""
        raise NotImplementedError

    def score(self, evidence: Evidence, asking: Asking | None) -> Score:
        """Return the score of one output; ``asking`` is there where a judge is."""
        raise NotImplementedError

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judges whose verdicts it reads; a panel stands for its members."""
        judge = self.judge_asked()
        return () if judge is None else (judge,)

    def packets(self, evidence: Evidence) -> tuple[tuple[Judge, Packet], ...]:
        """Return what has to be asked so that an output can be graded: each judge with a packet."""
        judge = self.judge_asked()
        if judge is None:
            return ()
        asking = Asking(judge, NO_VERDICTS)
        self.score(evidence, asking)
        return asking.packets

    def grade(self, evidence: Evidence) -> Score:
        """Return the score of one output. Judges are not called: what they replied was captured before."""
        judge = self.judge_asked()
        return self.score(evidence, None if judge is None else Asking(judge, evidence.verdicts))


def needs(judge: Judge | None, setting: str, *kinds: str) -> None:
    """Refuse a judge that asks about something else than a setting needs.

    Raises:
        ValueError: naming what it asks about and what is needed.
    """
    if judge is not None and judge.kind not in kinds:
        wanted = " or ".join(kinds)
        raise ValueError(f"{setting} needs a judge of {wanted}, and {judge.name} judges {judge.kind}")
