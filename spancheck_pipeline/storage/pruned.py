"""The mark that pruning leaves at a night, so that what is gone is told from what was lost or never there.

What is pruned, and why something is not, lives in ``api/pruning.py``.
"""

from __future__ import annotations

from spancheck_pipeline.errors import StorageError
from spancheck_pipeline.evidence.canonical import canonical_json
from spancheck_pipeline.storage.place import Night
from spancheck_pipeline.storage.store import Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


def mark_pruned(store: Store, night: Night, *, before: str) -> None:
    """Leave the mark that a night is pruned; ``before`` is the first date that kept everything.

    Raises:
        StorageError: when it cannot be written.
    """
    path = _path(store, night)
    document = {"contract": 1, "suite": night.suite, "date": night.date, "pruned_before": before}
    try:
        store.filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
        store.filesystem.pipe_file(path, canonical_json(document).encode())
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({type(error).__name__})") from None


def was_pruned(store: Store, night: Night) -> bool:
    """Return whether a night's captured run is gone because it was pruned."""
    return not store.exists(night, CAPTURED_RUN) and bool(store.filesystem.exists(_path(store, night)))


def _path(store: Store, night: Night) -> str:
    return f"{store.root}/_pruned/{night.folder(CAPTURED_RUN.name, None)}/pruned.json"
