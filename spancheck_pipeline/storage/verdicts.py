"""Verdicts as rows, and the answers of a judge kept for all nights and suites, so that no packet is asked about twice.

Answers lie in segments, ``judge_verdicts_kept/judge=<name>/identity=<…>/segment=<…>/``; each is written once, whole.
The verdicts that one night's graders read are a partition of their own (``judge_verdicts``). Who asks is
``api/judging.py``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.run import Usage
from spancheck_pipeline.evidence.verdict import Verdict
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.store import FILE, JudgePlace
from spancheck_pipeline.storage.tables import JUDGE_VERDICTS

if TYPE_CHECKING:
    from spancheck_pipeline.grading.judge import Judge
    from spancheck_pipeline.storage.store import Store

KEPT: Final = dataclasses.replace(JUDGE_VERDICTS, name="judge_verdicts_kept")
"""The table of the segments: the same columns, in a folder that readers of partitions do not glob."""

MOST_SEGMENTS: Final = 32
"""Segments of a judge beyond which they are made into one, so that looking an answer up stays cheap over years."""

_USAGE = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")
_PLAIN = tuple(name for name in Verdict.model_fields if name != "usage")


def verdict_to_row(verdict: Verdict, uses: Iterable[tuple[str, str, int]] = ()) -> Row:
    """Return a verdict as a row; ``uses`` are (grader, case id, epoch) of the findings that read it."""
    return {
        **{name: getattr(verdict, name) for name in _PLAIN},
        **{name: getattr(verdict.usage, name) for name in _USAGE},
        "uses": [{"grader": grader, "case_id": case_id, "epoch": epoch} for grader, case_id, epoch in uses],
    }


def verdict_from_row(row: Row) -> Verdict:
    """Return the verdict that a row holds."""
    return Verdict(**{name: row[name] for name in _PLAIN}, usage=Usage(**{name: row[name] for name in _USAGE}))


def keep(store: Store, judge: Judge, verdicts: Iterable[Verdict]) -> int:
    """Keep the answers among some verdicts of one judge, in a segment of their own; return how many.

    The same answers give the same segment, so that keeping them again after a kill keeps them once. The caller holds
    the judge's lock: many segments are made into one here.
    """
    answers = sorted((verdict for verdict in verdicts if verdict.is_answer), key=lambda verdict: verdict.key)
    if not answers:
        return 0
    name = digest([[*verdict.key, verdict.model_dump(mode="json")] for verdict in answers])[:16]
    _write(store, judge, name, map(verdict_to_row, answers))
    segments = _segments(store, judge)
    if len(segments) > MOST_SEGMENTS:
        _merge(store, judge, segments)
    return len(answers)


def kept(store: Store, judge: Judge, packets: Iterable[str]) -> Iterator[Verdict]:
    """Yield the kept answers of a judge about some packets (their digests).

    Raises:
        MissingDataError: when segments were made into one meanwhile; who holds the judge's lock never sees that.
    """
    wanted = set(packets)
    if not wanted:
        return
    for segment in _segments(store, judge):
        file = store.open(_place(judge, segment), KEPT)
        with store.filesystem.open(file.path, "rb") as handle:
            yield from _matching(pq.ParquetFile(handle), judge.identity, wanted)


def _place(judge: Judge, segment: str | None = None) -> JudgePlace:
    of_judge = (f"identity={judge.identity[:16]}",)
    return JudgePlace(judge.name, of_judge if segment is None else (*of_judge, f"segment={segment}"))


def _segments(store: Store, judge: Judge) -> list[str]:
    """Return the names of a judge's segments, in order."""
    folder = f"{store.root}/{_place(judge).folder(KEPT.name, None)}"
    paths = store.filesystem.glob(f"{folder}/segment=*/{FILE}")
    return sorted(path.rsplit("/", 2)[-2].removeprefix("segment=") for path in paths)


def _write(store: Store, judge: Judge, segment: str, rows: Iterable[Row]) -> None:
    place = _place(judge, segment)
    if not store.exists(place, KEPT):
        store.publish(place, KEPT, rows, identity={"judge": judge.name, "identity": judge.identity}, metadata={})


def _merge(store: Store, judge: Judge, segments: list[str]) -> None:
    """Make many segments into one. Killed half-way, an answer stands twice, which changes nothing."""
    files = [store.open(_place(judge, segment), KEPT) for segment in segments]
    _write(store, judge, digest(segments)[:16], (row for file in files for row in file.rows()))
    for file in files:
        store.filesystem.rm(file.path)


def _matching(parquet: Any, identity: str, wanted: set[str]) -> Iterator[Verdict]:
    for batch in parquet.iter_batches(batch_size=4096):
        table = batch.filter(pc.is_in(batch.column("packet_digest"), value_set=_strings(wanted)))
        for row in table.to_pylist():
            if row["identity"] == identity:
                yield verdict_from_row(row)


def _strings(values: set[str]) -> Any:
    import pyarrow as pa

    return pa.array(sorted(values), type=pa.string())
