"""A file of answers that another tool recorded, as a target: JSONL, one answer a line, matched by case id.

Files of other tools that need a conversion are read by ``importers/``; files of cases by ``storage``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from spancheck_pipeline.clients.answer import OUTPUT_NAMES, check_output_names, output_of, parse_json, pick
from spancheck_pipeline.clients.call_errors import NoRecordedAnswer
from spancheck_pipeline.errors import ConfigError, Problem, TargetError
from spancheck_pipeline.evidence.case import check_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spancheck_pipeline.decision.suite_target import Citations, RecordedTarget
    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.evidence.run import Output, TargetFacts

_BOM = b"\xef\xbb\xbf"
_MAX_LINE: Final = 64 * 1024 * 1024
"""Longest line that is read, in bytes: a bound on memory, not on what an output may be."""


class RecordedAnswers:
    """Answers from a file. Only the place of each line is kept in memory; a line is read when its case comes up."""

    abandoned = 0

    def __init__(
        self, settings: RecordedTarget, *, suite_folder: Path, facts: TargetFacts, citations: Citations = "auto"
    ) -> None:
        self.facts = facts
        self._citations = citations
        columns = dict(settings.columns)
        self._id_column = columns.pop("case_id", None)
        check_output_names(columns, where="target.recorded.columns")
        # A column that the file names otherwise is found by the map, every other by its own name.
        self._columns = {**{name: name for name in OUTPUT_NAMES}, **columns}
        self._path = suite_folder / settings.file
        self._file: BinaryIO | None = None
        try:
            with self._path.open("rb") as file:
                self._places = _index(file, name=str(self._path), id_column=self._id_column)
        except OSError as error:
            raise TargetError(
                f"target.recorded: cannot read {self._path} ({error.strerror}); "
                "give a path relative to the suite's folder, or an absolute one"
            ) from None

    @property
    def case_ids(self) -> frozenset[str]:
        """Ids of the cases that have an answer."""
        return frozenset(self._places)

    async def call(self, case: Case, epoch: int) -> Output:
        """Return the answer that is recorded for a case; every epoch has the same.

        Raises:
            NoRecordedAnswer: when the file has none.
            InvalidOutputError: when the line holds no output.
        """
        del epoch
        place = self._places.get(case.id)
        if place is None:
            raise NoRecordedAnswer
        if self._file is None:
            self._file = self._path.open("rb")
        self._file.seek(place)
        row = parse_json(self._file.readline().removeprefix(_BOM))
        found = {name: value for name, value in pick(row, self._columns).items() if value is not None}
        if not isinstance(found.get("response"), dict | list) or "answer" in found:
            found.pop("response", None)  # a producer's payload is what it means here, where there is no answer
        return output_of(found, citations=self._citations)

    async def close(self) -> None:
        """Close the file. A later call opens it again."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _index(file: BinaryIO, *, name: str, id_column: str | None) -> dict[str, int]:
    """Return the byte offset of each case's line.

    Raises:
        ConfigError: with every line that cannot be used, all at once.
    """
    places: dict[str, int] = {}
    first_lines: dict[str, int] = {}
    problems: list[Problem] = []
    for number, offset, line in _lines(file):
        try:
            case_id = _case_id(line, id_column)
        except ValueError as problem:
            problems.append(Problem(what=str(problem), line=number))
            continue
        if case_id in places:
            what = f"case id {case_id!r} stands twice (first in line {first_lines[case_id]})"
            problems.append(Problem(what=what, line=number, fix="keep one answer per case"))
        else:
            places[case_id], first_lines[case_id] = offset, number
    if not places and not problems:
        problems.append(Problem(what="holds no answers", fix="write one JSON object a line"))
    if problems:
        raise ConfigError(name, problems)
    return places


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, offset and bytes of each line that is not blank. A byte order mark and CRLF are no part of it."""
    offset = number = 0
    while line := file.readline(_MAX_LINE):
        number += 1
        start, offset = offset, offset + len(line)
        text = (line.removeprefix(_BOM) if number == 1 else line).strip()
        if text:
            yield number, start, text


def _case_id(line: bytes, id_column: str | None) -> str:
    """Return a line's case id, or say in a ``ValueError`` what is wrong with the line, without quoting it."""
    try:
        row: Any = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8; save the file as UTF-8") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except ValueError:
        raise ValueError("is not JSON; every line is one JSON object") from None
    if not isinstance(row, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - caught as the line's problem
    column = id_column or ("case_id" if "case_id" in row else "id")
    value = row.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError(f"has no text in column {column!r}; name the id's column with columns: {{case_id: …}}")  # noqa: TRY004 - as above
    return check_id(value)
