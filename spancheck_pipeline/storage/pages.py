"""Pages beside the tables: HTML files that people open, one a place, with revisions as tables have them.

``report/suite=…/date=…/report.html`` is the current one; superseded ones are kept under ``_history/``. What a page was
made from stands in its head as ``<meta name="spancheck-…">``, so that the same content is not written twice. How a
finished file gets into its place lives in ``publication.py``; what stands on a page in ``report/html``.
"""

from __future__ import annotations

import contextlib
import html
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spancheck_pipeline.errors import ContractError, StorageError
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.storage.object_files import ObjectFiles
from spancheck_pipeline.storage.publication import LocalPublisher, ObjectPublisher, Publisher, Slot
from spancheck_pipeline.storage.store import Place, Store

_HEAD: Final = 16 * 1024
"""Bytes of a page in which its stamps stand."""
_STAMP: Final = re.compile(r'<meta name="spancheck-([a-z-]+)" content="([^"]*)">')
_NO_NUMBER: Final = b'<meta name="spancheck-revision" content="00000">'
"""What a page is written with; its number is put in when it is known, in as many characters."""

Parts = Callable[[Mapping[str, str]], Iterable[str]]
"""Makes the page, part by part, from the stamps that its head must carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPage:
    """Where a page is, and which it is."""

    path: str
    revision: int
    content_digest: str
    """SHA-256 of what it was made from."""
    n_bytes: int
    is_new: bool
    """False when the same page stood there already."""


class _PageSlot(Slot):
    """Where one page of one place stands."""

    def kept(self, revision: int) -> str:
        return f"{self.history}/revision={revision:05d}/{self.current.rpartition('/')[2]}"


def page_path(store: Store, place: Place, name: str = "report") -> str:
    """Return the path of a place's page, whether it exists or not."""
    return f"{store.root}/{place.folder(name, None)}/{name}.html"


def publish_page(
    store: Store, place: Place, parts: Parts, *, identity: Mapping[str, Any], name: str = "report"
) -> PublishedPage:
    """Write a page at a place, all of it or nothing, and keep what it supersedes.

    ``identity`` is everything that the page is made from; where the page of this identity stands there, nothing is
    written.

    Raises:
        StorageError: when the storage cannot be written; what stood there still stands.
        ContractError: when a page of another contract stands there.
    """
    slot = _PageSlot(page_path(store, place, name), f"{store.root}/_history/{place.folder(name, None)}")
    content_digest = digest(identity)
    current = _stamps_of(store, slot.current)
    if current.get("content-digest") == content_digest:
        return _published(store, slot, int(current["revision"]), content_digest, is_new=False)
    publisher: Publisher = LocalPublisher(Path(store.root)) if store.is_local else _objects(store)
    try:
        with publisher.scratch() as scratch:
            draft = scratch / uuid.uuid4().hex
            try:
                _write(draft, parts(_stamps(content_digest)))
                with publisher.alone():
                    revision = _put(store, publisher, slot, draft)
                publisher.settle(slot, shown=revision)
            finally:
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{slot.current}: cannot be written ({os.strerror(error.errno or 0)})") from None
    return _published(store, slot, revision, content_digest, is_new=True)


def write_page_file(path: Path, parts: Parts, *, identity: Mapping[str, Any]) -> PublishedPage:
    """Write a page to a file of the user's: a temporary one beside it, then a rename over what stood there.

    Raises:
        StorageError: when it cannot be written; what stood there still stands.
    """
    content_digest = digest(identity)
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write(draft, parts(_stamps(content_digest)))
            n_bytes = draft.stat().st_size
            draft.replace(target)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({os.strerror(error.errno or 0)})") from None
    return PublishedPage(path=str(path), revision=0, content_digest=content_digest, n_bytes=n_bytes, is_new=True)


def _stamps(content_digest: str) -> dict[str, str]:
    return {"content-digest": content_digest, "revision": "00000"}


def _write(draft: Path, parts: Iterable[str]) -> None:
    with draft.open("w", encoding="utf-8", newline="\n") as handle:
        handle.writelines(parts)
        handle.flush()
        os.fsync(handle.fileno())


def _put(store: Store, publisher: Publisher, slot: Slot, draft: Path) -> int:
    """Number a draft and make it the current page; on object storage a number that is taken is tried again higher."""
    while True:
        stamps = _stamps_of(store, slot.current)
        replaced = int(stamps["revision"]) if stamps else None
        revision = 1 + max([*_kept(store, slot), replaced or 0])
        _number(draft, revision)
        if publisher.replace(draft, slot, replaced=replaced, revision=revision):
            return revision


def _number(draft: Path, revision: int) -> None:
    with draft.open("r+b") as handle:
        head = handle.read(_HEAD)
        at = head.index(_NO_NUMBER) if _NO_NUMBER in head else _numbered_at(head)
        handle.seek(at)
        handle.write(_NO_NUMBER.replace(b"00000", f"{revision:05d}".encode()))


def _numbered_at(head: bytes) -> int:
    match = re.search(rb'<meta name="spancheck-revision" content="\d{5}">', head)
    if match is None:
        raise ValueError("a page must carry the stamps that it is given in its head")
    return match.start()


def _kept(store: Store, slot: Slot) -> Iterator[int]:
    for path in store.filesystem.glob(slot.kept(0).replace("revision=00000", "revision=*")):
        if match := re.search(r"/revision=(\d+)/", path):
            yield int(match.group(1))


def _stamps_of(store: Store, path: str) -> dict[str, str]:
    """Return what the head of a stored page says of it; nothing where there is none."""
    if not store.filesystem.exists(path):
        return {}
    with store.filesystem.open(path, "rb") as handle:
        head = handle.read(_HEAD).decode("utf-8", "replace")
    stamps = {name: html.unescape(value) for name, value in _STAMP.findall(head)}
    if stamps.get("contract") != str(CONTRACT):
        raise ContractError(path, found=stamps.get("contract", "none"), known=CONTRACT)
    return stamps


def _published(store: Store, slot: Slot, revision: int, content_digest: str, *, is_new: bool) -> PublishedPage:
    n_bytes = int(store.filesystem.size(slot.current))
    return PublishedPage(
        path=slot.current, revision=revision, content_digest=content_digest, n_bytes=n_bytes, is_new=is_new
    )


def _objects(store: Store) -> ObjectPublisher:
    return ObjectPublisher(ObjectFiles(store.filesystem, store.root))
