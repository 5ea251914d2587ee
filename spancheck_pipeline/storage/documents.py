"""Single documents on the local disk (JSON, Markdown, HTML): written whole or not at all.

Tables live in ``store.py``.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from spancheck_pipeline.errors import StorageError


def write_text(path: Path, text: str) -> None:
    """Write a text file, as ``writing`` does.

    Raises:
        StorageError: when it cannot be written, what stood there still stands.
    """
    with writing(path) as handle:
        handle.write(text)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[IO[str]]:
    """Give a handle for a text file: a temporary file beside it, flushed to disk, then a rename over what stood there.

    A link is followed. What is no regular file (a device, a pipe) is written to as it is, never replaced. When the body
    fails, what stood there stands.

    Raises:
        StorageError: when it cannot be written, what stood there still stands.
    """
    tmp = ""
    try:
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", newline="\n") as handle:
                yield handle
            return
        tmp = str(path.with_name(f".{path.name}.{uuid.uuid4().hex}"))
        # Not mkstemp: others who may read the folder may read its files.
        descriptor = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(tmp, path)  # noqa: PTH105 - over whatever stands there
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({os.strerror(error.errno or 0)})") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(tmp)  # noqa: PTH108 - gone after the rename
