"""The files that a decision or an audit log names among its inputs, by the names that it gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from spancheck_pipeline.storage.adjudications import batch_place
from spancheck_pipeline.storage.calibrations import calibration_by_digest
from spancheck_pipeline.storage.store import Place, Store, StoredFile
from spancheck_pipeline.storage.tables import (
    ADJUDICATIONS,
    AUDIT_LOG,
    CALIBRATION,
    CAPTURED_RUN,
    CASES,
    COMPARISON,
    GATE,
    JUDGE_VERDICTS,
    SCORECARD,
    SCORES,
)

_BY_NAME: Final = {
    table.name: table for table in (CASES, CAPTURED_RUN, JUDGE_VERDICTS, SCORECARD, COMPARISON, GATE, AUDIT_LOG)
}


def named_file(store: Store, place: Place, name: str, content_digest: str) -> StoredFile | None:
    """Open the file that an input names; None for a name that is not that of a file.

    Raises:
        MissingDataError: when no revision with the digest is kept.
        ContractError, CorruptFileError: for a file that is none of ours, is of another place, or is damaged.
    """
    kind, _, rest = name.partition("/")
    if kind == ADJUDICATIONS.name and rest:
        return store.open_by_digest(batch_place(place, rest), ADJUDICATIONS, content_digest)
    if kind == CALIBRATION.name and rest:
        judge, _, domain = rest.partition("/")
        return calibration_by_digest(store, judge, domain, content_digest)
    if kind == SCORES.name and rest:
        return store.open_by_digest(place, SCORES, content_digest, rest)
    table = _BY_NAME.get(name)
    return None if table is None else store.open_by_digest(place, table, content_digest)


def named_files(store: Store, place: Place, inputs: Mapping[str, Any]) -> Iterator[tuple[str, StoredFile]]:
    """Yield the files of some inputs with their names; raises as ``named_file``."""
    for name, content_digest in inputs.items():
        file = named_file(store, place, name, str(content_digest))
        if file is not None:
            yield name, file


__all__ = ["named_file", "named_files"]
