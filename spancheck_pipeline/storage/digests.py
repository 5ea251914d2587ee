"""Whether a stored file still is what its content digest is of: rows and identity are digested again, as they stand.

How the digest is made when a file is written lives in ``store.py``; here it is made a second time, from the file.
"""

from __future__ import annotations

import datetime as dt
import hashlib

from spancheck_pipeline.errors import CorruptFileError
from spancheck_pipeline.evidence.canonical import canonical_json, digest
from spancheck_pipeline.storage.store import StoredFile
from spancheck_pipeline.storage.tables import Row


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
