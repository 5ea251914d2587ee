"""The lock of a place on object storage: a lease that ends by itself when its holder dies, with a fencing token.

    _locks/<place>/<kind>/lease-<token>.json    who took it; created once, so that one of many gets a token
    _locks/<place>/<kind>/beat-<token>.json     the holder's sign of life, written again and again; or that it let go

A lease whose sign of life is older than its length may be taken over, under the next token. Its former holder finds
the higher token before it next calls something durable (``check``), and stops. How old a sign is, is told by the
store's own clock and by waiting, never by comparing the clocks of two machines. The lock of a local disk is in
``lock.py``; what a journal does with tokens in ``object_journal.py``.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from spancheck_pipeline.errors import CorruptFileError, LockedError, StorageError
from spancheck_pipeline.evidence.canonical import CONTRACT

if TYPE_CHECKING:
    from types import TracebackType

    from spancheck_pipeline.storage.object_files import ObjectFiles

LEASE_S: Final = 60.0
"""Seconds after its last sign of life that a lease can be taken over."""

_BEATS: Final = 4
"""Signs of life during the length of a lease."""
_MARGIN_S: Final = 1.0
"""What is waited beyond it: stores tell times in whole seconds."""
_NAME: Final = re.compile(r"lease-(\d{8})\.json")


class _Lease(BaseModel):
    """Who took a lease."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contract: Literal[1] = CONTRACT
    contains_text: Literal[False] = False
    token: int
    length_s: float
    pid: int
    host: str
    started_at: datetime


class _Beat(BaseModel):
    """A sign of life, or (``is_released``) the word that its holder let go."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contract: Literal[1] = CONTRACT
    contains_text: Literal[False] = False
    number: int
    is_released: bool = False


class _Seen(NamedTuple):
    """What stands of one token."""

    lease: _Lease
    beat: _Beat | None


class ObjectLease:
    """Holds a place for one process, as a context manager or by ``acquire`` and ``release``; a thread renews it."""

    def __init__(self, files: ObjectFiles, folder: str, *, length_s: float = LEASE_S) -> None:
        self._files = files
        self._folder = folder
        self._length_s = length_s
        self._token: int | None = None
        self._stop = threading.Event()
        self._renewer: threading.Thread | None = None

    @property
    def token(self) -> int:
        """The fencing token: higher than that of everybody who held the place before.

        Raises:
            LockedError: when it is not held.
        """
        if self._token is None:
            raise LockedError(f"{self._folder}: this lease is not held by this process")
        return self._token

    def acquire(self) -> None:
        """Take the lease, after waiting for at most its length: a holder that gives no sign until then is dead.

        Raises:
            LockedError: when its holder is alive; saying who it is and what to do.
            StorageError: when the store cannot be read or written.
        """
        latest = self._latest()
        if latest is not None:
            self._wait_for_end(latest)
        self._take(1 + (latest or 0))

    def release(self) -> None:
        """Let the place go; nothing happens when it is not held. A store that is away then lets it end by itself."""
        if self._token is None:
            return
        token, self._token = self._token, None
        self._stop.set()
        if self._renewer is not None:
            self._renewer.join(timeout=self._length_s)
        with suppress(StorageError):
            self._write_beat(token, _Beat(number=-1, is_released=True))

    def check(self) -> None:
        """Return when nobody has taken the place over.

        Raises:
            LockedError: when somebody has, or when it is not held.
            StorageError: when the store cannot be read.
        """
        latest = self._latest()
        if latest != self.token:
            raise LockedError(
                f"{self._folder}: this process gave no sign of life for {self._length_s:g} s, and another one has "
                f"taken over (token {latest} after {self.token}). What was recorded before is kept; nothing more is "
                "recorded here"
            )

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    # -- taking it ----------------------------------------------------------------------------------------------

    def _take(self, token: int) -> None:
        lease = _Lease(
            token=token,
            length_s=self._length_s,
            pid=os.getpid(),
            host=socket.gethostname()[:80],
            started_at=datetime.now(UTC),
        )
        is_taken = self._files.create(self._lease_path(token), _bytes(lease))
        # One that was let go and cleared away meanwhile could be created once more: the highest token counts.
        if not is_taken or self._latest() != token:
            raise LockedError(self._locked(None))
        self._token = token
        self._write_beat(token, _Beat(number=0))
        self._clear_before(token)
        self._stop = threading.Event()
        self._renewer = threading.Thread(
            target=self._renew, args=(token, self._stop), name="spancheck-lease", daemon=True
        )
        self._renewer.start()

    def _wait_for_end(self, token: int) -> None:
        """Return when a lease was let go or has run out; wait for the latter.

        Raises:
            LockedError: when its holder gives a sign of life, or somebody else takes it.
        """
        first = self._read(token)
        if first is None or (first.beat is not None and first.beat.is_released):
            return
        give_up = time.monotonic() + self._left_s(token, first)
        while (left := give_up - time.monotonic()) > 0:
            time.sleep(min(left, first.lease.length_s / (2 * _BEATS)))
            if self._latest() != token:
                raise LockedError(self._locked(None))
            now = self._read(token)
            if now is None or (now.beat is not None and now.beat.is_released):
                return
            if now.beat != first.beat:
                raise LockedError(self._locked(first.lease))

    def _left_s(self, token: int, seen: _Seen) -> float:
        """Return for how long nothing may be heard of a holder before it is taken for dead."""
        length = seen.lease.length_s + _MARGIN_S
        path = self._beat_path(token) if seen.beat is not None else self._lease_path(token)
        try:
            age = self._files.age_s(path, self._folder)
        except FileNotFoundError:
            return length
        return length if age is None else min(length, length - age)

    def _latest(self) -> int | None:
        found = (_NAME.fullmatch(name) for name in self._files.names(self._folder))
        return max((int(match.group(1)) for match in found if match), default=None)

    def _read(self, token: int) -> _Seen | None:
        """Return what stands of a token; None when it was cleared away."""
        try:
            lease = _parsed(_Lease, self._files.read(self._lease_path(token)), self._lease_path(token))
        except FileNotFoundError:
            return None
        try:
            beat = _parsed(_Beat, self._files.read(self._beat_path(token)), self._beat_path(token))
        except FileNotFoundError:
            return _Seen(lease, None)
        return _Seen(lease, beat)

    def _clear_before(self, token: int) -> None:
        """Remove what stands of lower tokens; only the highest says anything."""
        names = (re.fullmatch(r"(?:lease|beat)-(\d{8})\.json", name) for name in self._files.names(self._folder))
        self._files.remove(f"{self._folder}/{m.group()}" for m in names if m and int(m.group(1)) < token)

    def _locked(self, holder: _Lease | None) -> str:
        who = "another process"
        if holder is not None:
            who = f"process {holder.pid} on {holder.host!r} since {holder.started_at.isoformat(timespec='seconds')}"
        return (
            f"{self._folder} is being captured by {who}; wait until it ends, or end it and run again "
            f"(its finished calls are kept, and its lease ends {self._length_s:g} s after it)"
        )

    # -- keeping it ---------------------------------------------------------------------------------------------

    def _renew(self, token: int, stop: threading.Event) -> None:
        """Give signs of life until it is let go; a store that is away for a while is no reason to stop."""
        number = 0
        while not stop.wait(self._length_s / _BEATS):
            number += 1
            with suppress(StorageError):
                if self._latest() != token:
                    return
                self._write_beat(token, _Beat(number=number))

    def _write_beat(self, token: int, beat: _Beat) -> None:
        self._files.put(self._beat_path(token), _bytes(beat))

    def _lease_path(self, token: int) -> str:
        return f"{self._folder}/lease-{token:08d}.json"

    def _beat_path(self, token: int) -> str:
        return f"{self._folder}/beat-{token:08d}.json"


def _bytes(document: BaseModel) -> bytes:
    return document.model_dump_json().encode()


def _parsed(kind: Any, data: bytes, path: str) -> Any:
    try:
        return kind.model_validate_json(data)
    except ValidationError:
        contract = _contract(data)
        detail = f"contract {contract!r}, and this version knows {CONTRACT}" if contract != CONTRACT else "damaged"
        raise CorruptFileError(
            f"{path}: not a lease of this version ({detail}); end whoever uses it, then remove it"
        ) from None


def _contract(data: bytes) -> Any:
    try:
        return json.loads(data)["contract"]
    except (ValueError, LookupError, TypeError):
        return CONTRACT
