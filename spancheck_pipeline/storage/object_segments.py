"""Segments of a journal on object storage: their names, what each says of itself, and moving or removing them.

What their records say is ``journal.py``'s; which of them count is ``object_journal.py``'s.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from spancheck_pipeline.errors import ContractError, CorruptFileError
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.journal import JournalHeader
from spancheck_pipeline.storage.journal_lines import unsealed
from spancheck_pipeline.storage.object_files import ObjectFiles

_NAME: Final = re.compile(r"segment-(\d{8})-(\d{6})\.jsonl")


class SegmentId(NamedTuple):
    """Which segment: of whom, and the how many-th."""

    token: int
    number: int

    @property
    def name(self) -> str:
        """Return the object's name."""
        return f"segment-{self.token:08d}-{self.number:06d}.jsonl"


class SegmentHead(BaseModel):
    """The first line of a segment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contract: Literal[1] = CONTRACT
    contains_text: Literal[True] = True
    token: int
    number: int
    header: JournalHeader | None = None
    """What the journal is about; in segment 0."""
    counts: dict[int, int] = {}
    """Token of an earlier session → how many of its segments count, from number 0; in segment 0."""


def segments(files: ObjectFiles, folder: str) -> list[SegmentId]:
    """Return the segments of a journal's folder, in order."""
    found = (_NAME.fullmatch(name) for name in files.names(folder))
    return sorted(SegmentId(int(match.group(1)), int(match.group(2))) for match in found if match)


def read_object_header(files: ObjectFiles, folder: str) -> JournalHeader | None:
    """Return the header of a journal, or None when there is no journal.

    Raises:
        ContractError, CorruptFileError, StorageError: when it cannot be read as one.
    """
    begun = [segment for segment in segments(files, folder) if segment.number == 0]
    return read_head(files, folder, begun[-1]).header if begun else None


def read_head(files: ObjectFiles, folder: str, segment: SegmentId) -> SegmentHead:
    """Return what a segment says of itself.

    Raises:
        ContractError, CorruptFileError, StorageError: when it cannot be read as one.
    """
    path = f"{folder}/{segment.name}"
    try:
        data = files.read(path)
    except FileNotFoundError:
        raise CorruptFileError(f"{path}: this segment was there a moment ago; who removed it?") from None
    return parsed_head(data.split(b"\n", 1)[0] + b"\n", segment, path)


def remove_segments(files: ObjectFiles, folder: str, *, up_to: int | None = None) -> None:
    """Remove a journal's segments, those of tokens up to ``up_to``, the ones that say what it is about last."""
    found = [segment for segment in segments(files, folder) if up_to is None or segment.token <= up_to]
    ordered = sorted(found, key=lambda segment: (segment.number == 0, segment.token, segment.number))
    files.remove(f"{folder}/{segment.name}" for segment in ordered)


def set_aside(files: ObjectFiles, folder: str, found: list[SegmentId]) -> None:
    """Move segments to a folder of their own, where nobody goes on with them; the ones that begin a session last."""
    parent, _, name = folder.rpartition("/")
    taken = sum(1 for other in files.names(parent) if re.fullmatch(re.escape(name) + r"\.\d+\.aside", other))
    for segment in sorted(found, key=lambda segment: (segment.number == 0, segment.token, segment.number)):
        path = f"{folder}/{segment.name}"
        files.create(f"{folder}.{taken + 1}.aside/{segment.name}", files.read(path))
        files.remove([path])


def parsed_head(line: bytes, segment: SegmentId, path: str) -> SegmentHead:
    """Return what the first line of a segment says.

    Raises:
        ContractError, CorruptFileError: when it is not the first line of this segment.
    """
    payload = unsealed(line)
    try:
        found = json.loads(payload if payload is not None else line)["contract"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise CorruptFileError(f"{path}:1: this is not a segment of a capture's journal; move it away") from None
    if found != CONTRACT:
        raise ContractError(path, found=found, known=CONTRACT)
    try:
        head = SegmentHead.model_validate_json(payload or b"")
    except ValidationError:
        raise CorruptFileError(f"{path}:1: the first line is damaged; restore the object") from None
    if (head.token, head.number) != segment or (head.number == 0) != (head.header is not None):
        raise CorruptFileError(f"{path}:1: this is another segment than its name says; restore the object")
    return head
