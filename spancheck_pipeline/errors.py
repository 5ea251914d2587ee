"""Every error that this package raises for a mistake in the call.

A class takes the culprits as data and writes its own message: what, where, the fix. No system output, quote or secret
stands in a message: counts, names that the user wrote in configuration, and ids only. Facts about the data are values,
not errors, and live with the nouns they describe.

    SpancheckError
    ├── UsageError               a call, flag or name that cannot work            exit 2
    │   └── GraderSettingsError  a grader, or one of its settings, is not known   exit 2
    ├── ConfigError              a suite, cases file or judge file is wrong       exit 2
    ├── TargetError              the system under test cannot be reached at all   exit 2
    ├── StorageError             the storage cannot be read or written            exit 2
    │   ├── ContractError        a file of another contract                       exit 2
    │   ├── CorruptFileError     a file that is not what it should be             exit 2
    │   │   └── ForeignFileError a file of another place                          exit 2
    │   ├── MissingDataError     nothing is stored there yet                      exit 2
    │   └── LockedError          somebody else captures this partition            exit 2
    ├── CaptureRefusedError      a capture that would break "one run per partition"  exit 2
    ├── PromotionRefusedError    a run that its gate does not let pass            exit 1
    ├── BudgetError              a run that would spend, or spent, what it may    exit 2
    ├── StepFailedError          a step of a Dagster run could not run            exit 2
    └── NotComparableError       two runs that cannot be compared                 exit 3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class SpancheckError(Exception):
    """A mistake in the call, with a message that fits on one screen and says the fix."""

    exit_code = 2


class UsageError(SpancheckError):
    """A call, flag or name that cannot work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingProblem:
    """One thing that is wrong with a grader of a suite."""

    grader: str
    """The grader's name in the suite."""
    setting: str | None
    """The setting's name; None where the grader as a whole is meant."""
    what: str
    fix: str | None = None

    def text(self) -> str:
        """Return ``graders.name.setting: what; fix``."""
        where = f"graders.{self.grader}" + (f".{self.setting}" if self.setting else "")
        return f"{where}: {self.what}" + (f"; {self.fix}" if self.fix else "")


class GraderSettingsError(UsageError, ValueError):
    """Graders cannot be built: every wrong name and setting is named, with the nearest valid one."""

    def __init__(self, problems: Iterable[SettingProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problem.text() for problem in self.problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong in one place of a file that a user wrote."""

    what: str
    line: int | None = None
    """1-based line in the file, None where the file as a whole is meant."""
    column: int | None = None
    fix: str | None = None

    def text(self, file: str) -> str:
        """Return ``file:line:column: what; fix`` with the parts that are known."""
        where = ":".join([file, *(str(n) for n in (self.line, self.column) if n is not None)])
        return f"{where}: {self.what}" + (f"; {self.fix}" if self.fix else "")


class ConfigError(SpancheckError):
    """One file that a user wrote has one or more problems, all reported at once."""

    shown = 20

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = tuple(problems)
        lines = [problem.text(file) for problem in self.problems[: self.shown]]
        if len(self.problems) > self.shown:
            lines.append(f"… and {len(self.problems) - self.shown} more problems in {file}")
        super().__init__("\n".join(lines))


class TargetError(SpancheckError):
    """The system under test cannot be loaded or reached, so that no call was made."""


class StorageError(SpancheckError):
    """The storage cannot be read or written."""


class ContractError(StorageError):
    """A file carries a contract number that this version does not know."""

    def __init__(self, file: str, *, found: object, known: int) -> None:
        self.found, self.known = found, known
        super().__init__(
            f"{file}: contract {found!r} is not known here (this version reads contract {known}); "
            "read it with the version that wrote it, or upgrade spancheck-pipeline"
        )


class CorruptFileError(StorageError):
    """A file is not what its place says it is."""


class ForeignFileError(CorruptFileError):
    """A file says of itself that it belongs to another suite, date, run, grader or revision than it lies at."""

    def __init__(self, path: str, *, table: str, here: str, there: str) -> None:
        self.here, self.there = here, there
        super().__init__(
            f"{path}: lies at {here}, and is the {table} of {there}, as it says itself: it was copied or moved here. "
            "Nothing is made of it; put the file of this place back from a backup (spancheck audit verify says "
            "what else is not as it was written)"
        )


class MissingDataError(StorageError):
    """Nothing is stored at a place that a command needs."""


class LockedError(StorageError):
    """Somebody else holds the lock of a partition."""


class CaptureRefusedError(SpancheckError):
    """A capture that would merge two runs, or call a system about a day that is over."""


class PromotionRefusedError(SpancheckError):
    """A run that its gate does not let pass is not made a baseline."""

    exit_code = 1

    def __init__(self, place: object, *, answer: str, rules: Iterable[str]) -> None:
        self.answer = answer
        self.rules = tuple(rules)
        super().__init__(
            f"{place}: the gate says {answer} ({', '.join(self.rules)}), so that this run does not become the last "
            "good one; look at the rules' reasons (spancheck gate)"
        )


class BudgetError(SpancheckError):
    """A run that would spend more than its suite allows, or has spent it; what was captured is kept."""


class StepFailedError(SpancheckError):
    """A step of a run could not run; the message is the step's own."""

    def __init__(self, step: str, message: str) -> None:
        self.step = step
        super().__init__(f"{step.replace('__', '/')}: {message}")


class NotComparableError(SpancheckError):
    """Two runs cannot be compared; every reason is named."""

    exit_code = 3

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("not comparable: " + "; ".join(self.reasons))
