"""Why a call of a judge gave no verdict. Every message is made of codes and counts: no packet, reply or key is in it.

CallError (``call_errors.py``)
├── ConnectionFailedError
│   └── NoReplyError            no whole reply came, or the program cannot be started; the row bears the class
├── TargetRaisedError
│   └── JudgeRaisedError        the user's function raised; the row bears the class
├── JudgeReportedError          a program's envelope says itself that it failed
├── InvalidReplyError           what came is not what this protocol sends
└── NoVerdictError              the judge replied, and there is no verdict in it
    ├── TruncatedVerdictError   it used up its tokens, the larger budget too
    ├── RefusedVerdictError     it declined, or a filter did
    └── UnreadableVerdictError  its reply holds no verdict, or several
"""

from __future__ import annotations

from spancheck_pipeline.clients.call_errors import CallError, ConnectionFailedError, TargetRaisedError, text_of
from spancheck_pipeline.evidence.run import Usage


class NoReplyError(ConnectionFailedError):
    """No whole reply came. The network error's own text may quote what was sent, so it is not told."""

    def __init__(self, raised: Exception) -> None:
        super().__init__(raised)
        self.args = ("no whole reply came",)


class JudgeRaisedError(TargetRaisedError):
    """The user's function raised. Its text may quote the packet, so only its length is told."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(raised)
        self.args = (f"the judge raised an error with {_n_bytes(text_of(raised))} bytes of text",)


class JudgeReportedError(CallError):
    """A program says in its envelope that it failed."""

    def __init__(self, subtype: str, *, n_bytes: int, retryable: bool) -> None:
        self.retryable = retryable
        super().__init__(f"the program reports an error ({subtype}), with {n_bytes} bytes of text")


class InvalidReplyError(CallError):
    """What came is not what this protocol sends: no JSON, another shape."""

    def __init__(self, what: str, *, n_bytes: int | None = None) -> None:
        size = "" if n_bytes is None else f" of {n_bytes} bytes"
        super().__init__(f"the reply{size} is not {what}")


class NoVerdictError(CallError):
    """The judge replied, and there is no verdict in it."""


class TruncatedVerdictError(NoVerdictError):
    """The judge used up its tokens before it was done."""

    def __init__(self, max_tokens: int, *, n_bytes: int, usage: Usage) -> None:
        self.usage = usage
        """What was spent all the same."""
        super().__init__(f"the reply of {n_bytes} bytes ends where its {max_tokens} tokens were used up")


class RefusedVerdictError(NoVerdictError):
    """The judge declined, or a filter did."""

    def __init__(self, *, n_bytes: int) -> None:
        super().__init__(f"the judge declined, with {n_bytes} bytes of text")


class UnreadableVerdictError(NoVerdictError):
    """The reply holds no verdict, or no one verdict."""

    def __init__(self, why: str, code: str, *, n_bytes: int) -> None:
        self.code = code
        super().__init__(f"{why} ({n_bytes} bytes)")

    @property
    def error_class(self) -> str:
        """The class with why in a word: what one counts by."""
        return f"{type(self).__name__}.{self.code}"


def _n_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
