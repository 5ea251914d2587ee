"""Why one call of a target failed: facts that become an error row, never a crash of the capture.

Mistakes for which no call can be made at all are ``TargetError`` (``errors.py``). When a failed call is tried again is
decided in ``capture/engine.py``, from what stands here.

    CallError
    ├── TargetRaisedError       the user's code raised; the row bears the class that it raised
    ├── HttpStatusError         an answer with another status than 2xx: ``HttpStatus503``
    ├── ConnectionFailedError   no answer came: refused, reset, not resolved
    ├── CommandExitError        a program ended with another code than 0: ``CommandExit3``, ``CommandSignal9``
    ├── InvalidOutputError      what came back is not an output
    │   └── AmbiguousOutputError    it has the fields of several producers' payloads
    ├── OutputTooLargeError     what came back is larger than an output may be
    ├── NoRecordedAnswer        the file of recorded answers has none for this case
    └── TooManyHungCallsError   so many timed-out calls are still running that no other is started
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spancheck_pipeline.evidence.run import storable

MESSAGE_LIMIT = 2_000
"""Characters of an error's text that a row keeps."""

MAX_RETRY_AFTER_S = 120.0
"""Longest wait that a server may ask for; a longer one is cut to this."""

_CLASS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class CallError(Exception):
    """One call failed."""

    retryable = False
    retry_after_s: float | None = None

    @property
    def error_class(self) -> str:
        """What the row says under ``error_class``."""
        return type(self).__name__


class TargetRaisedError(CallError):
    """The user's code raised. It is tried again: nobody but its author knows whether that helps."""

    def __init__(self, raised: BaseException) -> None:
        self._error_class = class_name(raised)
        # SystemExit and its like say "stop", not "not now".
        self.retryable = isinstance(raised, Exception)
        super().__init__(text_of(raised))

    @property
    def error_class(self) -> str:
        """The class that the user's code raised."""
        return self._error_class


class HttpStatusError(CallError):
    """An HTTP answer with another status than 2xx; 408, 429 and 5xx are worth another attempt."""

    def __init__(self, status: int, *, body: str = "", retry_after_s: float | None = None) -> None:
        self.status = status
        self.retryable = status in {408, 429} or status >= 500  # noqa: PLR2004 - HTTP's own numbers
        self.retry_after_s = retry_after_s
        super().__init__(f"HTTP status {status}" + (f": {body}" if body else ""))

    @property
    def error_class(self) -> str:
        """The status is what one counts by."""
        return f"HttpStatus{self.status}"


class ConnectionFailedError(CallError):
    """No answer came; the class of the network error is the row's."""

    retryable = True

    def __init__(self, raised: Exception) -> None:
        self._error_class = class_name(raised)
        super().__init__(text_of(raised))

    @property
    def error_class(self) -> str:
        """The network error's own class, for example ``ConnectError``."""
        return self._error_class


class CommandExitError(CallError):
    """A program ended with another code than 0. What it wrote to standard error is not in the message."""

    retryable = True

    def __init__(self, code: int) -> None:
        self.code = code
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        super().__init__(f"the command {how}")

    @property
    def error_class(self) -> str:
        """The exit code is what one counts by."""
        return f"CommandSignal{-self.code}" if self.code < 0 else f"CommandExit{self.code}"


class InvalidOutputError(CallError):
    """What came back is not an output: the wrong type, a field of the wrong type, NaN, no JSON."""


class AmbiguousOutputError(InvalidOutputError):
    """What came back has the fields of several producers' payloads; the suite has to say which it is."""


class OutputTooLargeError(CallError):
    """What came back is larger than an output may be."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"the output is larger than {limit_bytes} bytes of JSON")


class NoRecordedAnswer(CallError):  # noqa: N818 - it stands as an error class in reports, where it says what is missing
    """The file of recorded answers has none for this case."""

    def __init__(self) -> None:
        super().__init__("no answer is recorded for this case")


class TooManyHungCallsError(CallError):
    """So many timed-out calls are still running that no other is started."""

    def __init__(self, hung: int) -> None:
        super().__init__(f"{hung} timed-out calls are still running; no other call is started beside them")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What the capture needs to know of a failed attempt."""

    error_class: str
    message: str
    """The error's text, shortened. It may quote anything, so it goes into a record file and nowhere else."""
    retryable: bool
    retry_after_s: float | None
    """Seconds that the target asked to wait; None where it did not ask."""


def failure_of(raised: BaseException) -> Failure:
    """Return what is to be recorded of an exception that a call ended with."""
    if isinstance(raised, CallError):
        return Failure(
            error_class=raised.error_class,
            message=text_of(raised),
            retryable=raised.retryable,
            retry_after_s=raised.retry_after_s,
        )
    return Failure(
        error_class=class_name(raised),
        message=text_of(raised),
        retryable=isinstance(raised, Exception),
        retry_after_s=None,
    )


def class_name(raised: BaseException) -> str:
    """Return the name of an exception's class; one that is no plain name (a class can be made of any text) is not told.

    >>> class_name(KeyError("x"))
    'KeyError'
    """
    name = type(raised).__name__
    return name if _CLASS_NAME.fullmatch(name) else "UnnamedError"


def text_of(raised: BaseException) -> str:
    """Return an exception's text, shortened and storable, also when the exception cannot say it."""
    try:
        text = str(raised)[:MESSAGE_LIMIT]
    except Exception:  # noqa: BLE001 - the user's exception class may fail in its own __str__
        return "<the error has no readable text>"
    return str(storable(text))
