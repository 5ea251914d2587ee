"""Whether a stored file still is what its content digest is of: rows and identity are digested again, as they stand.

How the digest is made when a file is written lives in ``store.py``; here it is made a second time, from the file.
"""

from __future__ import annotations

import datetime as dt
import hashlib

from spancheck_pipeline.errors import CorruptFileError
from spancheck_pipeline.evidence.canonical import canonical_json, digest
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.stored_file import StoredFile, reaching_client, unreadable


def file_digest(file: StoredFile) -> str:
    """Return the SHA-256 of a stored file's bytes.

    Raises:
        CorruptFileError, StorageError: when it cannot be read.
    """
    found = hashlib.sha256()
    with reaching_client(file.filesystem, file.path):
        try:
            with file.filesystem.open(file.path, "rb") as handle:
                while block := handle.read(1 << 20):
                    found.update(block)
        except OSError as error:
            raise unreadable(file.path, error) from None
    return found.hexdigest()


def content_fault(file: StoredFile) -> str | None:
    """Return what is wrong with a stored file's content, or None. The file is read through, a batch at a time."""
    rows = hashlib.sha256()
    n_rows = 0
    try:
        for row in file.rows():
            rows.update(canonical_json(_dated(row)).encode() + b"\n")
            n_rows += 1
        found = digest({"rows": rows.hexdigest(), "identity": file.inputs})
        claimed = file.content_digest
    except (CorruptFileError, KeyError, ValueError) as error:
        return f"{file.path}: cannot be read whole ({type(error).__name__})"
    if found == claimed:
        return None
    return f"{file.path}: its content ({n_rows} rows) is not what its content digest is of; it was changed or damaged"


def _dated(row: Row) -> Row:
    return {key: item.isoformat() if isinstance(item, dt.datetime) else item for key, item in row.items()}
