"""Calibrations in storage: ``calibration/judge=<name>/domain=<domain>/part-0.parquet``, one row a gold item.

One stands for each judge (or grader) and domain; what it supersedes is kept in the history, as for every table. What a
calibration says lives in ``decision/judged_figures.py``, how it is made in ``api/calibrating.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as pads
from pydantic import ValidationError

from spancheck_pipeline.decision.calibration import GoldAnswer
from spancheck_pipeline.decision.judged_figures import CalibrationDocument
from spancheck_pipeline.decision.judged_rates import Calibrated
from spancheck_pipeline.errors import ContractError, CorruptFileError, MissingDataError
from spancheck_pipeline.evidence.gold import GoldSet
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.store import JudgePlace, Published, Store, StoredFile
from spancheck_pipeline.storage.tables import CALIBRATION


class StoredCalibration(NamedTuple):
    """A calibration with the digest that a decision names it by."""

    calibrated: Calibrated
    content_digest: str


def keep_calibration(
    store: Store,
    gold: GoldSet,
    answers: Mapping[str, GoldAnswer],
    document: CalibrationDocument,
    *,
    made_at: str,
    made_by: str,
) -> Published:
    """Keep a calibration; one that says the same is not written again."""
    return store.publish(
        _place(document.subject.name, document.gold.domain),
        CALIBRATION,
        _rows(gold, answers),
        identity={"gold": gold.digest, "subject": document.subject.identity, "document": document.digest},
        metadata={"calibrated_at": made_at, "calibrated_by": made_by},
        document=lambda _revision, _digest: document.model_dump(mode="json"),
    )


def calibrations_of(store: Store, name: str) -> tuple[StoredCalibration, ...]:
    """Return the standing calibrations of a judge or grader, one a domain, in the domains' order.

    Raises:
        ContractError: for a file of another contract.
        CorruptFileError: for one that is damaged.
    """
    domains = sorted(match[1] for path in _paths(store, name) if (match := re.search(r"/domain=([a-z0-9_]+)/", path)))
    return tuple(_read(store.open(_place(name, domain), CALIBRATION)) for domain in domains)


def calibrated_on(store: Store, name: str, domain: str) -> str | None:
    """Return the name of the gold set behind the standing calibration of a domain; None where none can be read."""
    if not store.exists(_place(name, domain), CALIBRATION):
        return None
    try:
        return _read(store.open(_place(name, domain), CALIBRATION)).calibrated.document.gold.name
    except (ContractError, CorruptFileError):
        return None


def calibration_history(store: Store, name: str, domain: str) -> tuple[StoredFile, ...]:
    """Return every kept calibration of a judge in a domain, oldest first; the last is the one that stands."""
    return store.revisions(_place(name, domain), CALIBRATION)


def calibrations_dataset(store: Store, names: Iterable[str]) -> pads.Dataset:
    """Return the standing calibrations of some judges as one lazy dataset with ``judge`` and ``domain`` columns.

    Raises:
        MissingDataError: when one of them has none.
    """
    paths: list[str] = []
    for name in names:
        found = _paths(store, name)
        if not found:
            raise MissingDataError(f"{name} has no calibration yet; run `spancheck calibrate {name} --gold FILE`")
        paths += sorted(found)
    keys = pa.schema([("judge", pa.string()), ("domain", pa.string())])
    return pads.dataset(
        paths, schema=pa.schema([*CALIBRATION.schema, *keys]), format="parquet", filesystem=store.filesystem,
        partitioning=pads.partitioning(keys, flavor="hive"), partition_base_dir=store.root,
    )  # fmt: skip


def calibration_by_digest(store: Store, name: str, domain: str, content_digest: str) -> StoredFile:
    """Return the calibration, standing or superseded, that a decision names by its content's digest."""
    return store.open_by_digest(_place(name, domain), CALIBRATION, content_digest)


def _paths(store: Store, name: str) -> list[str]:
    folder = JudgePlace(name).folder(CALIBRATION.name, None)
    return list(store.filesystem.glob(f"{store.root}/{folder}/domain=*/*.parquet"))


def _place(name: str, domain: str) -> JudgePlace:
    return JudgePlace(name, (f"domain={domain}",))


def _rows(gold: GoldSet, answers: Mapping[str, GoldAnswer]) -> Iterator[Row]:
    for item in sorted(gold.items, key=lambda item: item.id):
        answer = answers.get(item.id, GoldAnswer(supported=None, code="missing_verdict"))
        yield {
            "item_id": item.id,
            "stratum": item.stratum,
            "group": item.group,
            "label": item.label,
            "supported": answer.supported,
            "score": answer.score,
            "code": answer.code,
            "repeats": list(answer.repeats),
        }


def _read(file: StoredFile) -> StoredCalibration:
    try:
        document = CalibrationDocument.model_validate(file.document())
    except ValidationError:
        raise CorruptFileError(f"{file.path}: not a calibration of this version; calibrate again") from None
    pairs = tuple(
        (row["label"], row["supported"]) for row in file.rows(["label", "supported"]) if row["supported"] is not None
    )
    return StoredCalibration(Calibrated(document=document, pairs=pairs), file.content_digest)
