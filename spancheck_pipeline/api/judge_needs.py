"""What graders need to know of which judge: the judges, and the packets of a captured place.

Asking lives in ``judging.py``; what goes into a packet in ``evidence/packet.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spancheck_pipeline.api.snapshot import read_snapshot
from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.grading.evaluate import packets_of
from spancheck_pipeline.grading.grader import Evidence, Grader
from spancheck_pipeline.grading.judge import Judge
from spancheck_pipeline.storage.rows import captured_from_row
from spancheck_pipeline.storage.store import Place, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


def needed_judges(graders: Iterable[Grader]) -> tuple[Judge, ...]:
    """Return every judge that some graders read verdicts of, once, in their order."""
    judges = (judge for grader in graders for judge in getattr(grader, "judges", ()))
    return tuple({judge.name: judge for judge in judges}.values())


class Need(NamedTuple):
    """A packet that a grader wants a judge's verdict about, and for which output."""

    judge: Judge
    packet: Packet
    use: tuple[str, str, int]


def needs_of(store: Store, place: Place, graders: Sequence[Grader]) -> Iterator[Need]:
    """Yield what each grader wants to know about each answer of a captured place; a packet may come twice."""
    cases = {case.id: case for case in read_snapshot(store, place)}
    for cells in store.open(place, CAPTURED_RUN).rows():
        row = captured_from_row(cells)
        if row.output is None:
            continue
        evidence = Evidence(case=cases[row.case_id], output=row.output, row=row)
        for grader in graders:
            for judge, packet in packets_of(grader, evidence):
                yield Need(judge, packet, (grader.name, row.case_id, row.epoch))


def needed_packets(store: Store, place: Place, graders: Sequence[Grader]) -> Iterator[tuple[Judge, Packet]]:
    """Yield what graders want to know of which judge about a captured place; the same may come twice."""
    return ((need.judge, need.packet) for need in needs_of(store, place, graders))


def asked_judges(graders: Iterable[Grader]) -> tuple[Judge, ...]:
    """Return the judges that are really asked for some graders: a panel's members in its place."""
    return tuple({judge.name: judge for top in needed_judges(graders) for judge in top.asked}.values())
