"""Single documents on the local disk (JSON, Markdown, HTML): written whole or not at all.

Tables live in ``store.py``.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from spancheck_pipeline.errors import StorageError


def write_text(path: Path, text: str) -> None:
    """Write a text file: a temporary file beside it, flushed to disk, then a rename over what stood there.

    Raises:
        StorageError: when it cannot be written; what stood there still stands.
    """
    tmp = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, tmp = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(tmp, path)  # noqa: PTH105 - over whatever stands there
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({os.strerror(error.errno or 0)})") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(tmp)  # noqa: PTH108 - gone after the rename
