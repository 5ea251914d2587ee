"""Whether a stored file belongs where it lies: what it says of itself against the place that it was opened at.

A file names its place when it is written (``store.py``), and most also in their own documents. One that was copied or
moved to another suite, date, run, grader, batch or revision is refused whoever reads it, before anything is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from spancheck_pipeline.errors import ForeignFileError
from spancheck_pipeline.storage.place import AdHoc, AnyPlace, Night
from spancheck_pipeline.storage.stored_file import StoredFile

PLACE: Final = "place"
"""Name in a file's metadata of the folder that it was written for, relative to the storage root."""
_NIGHT = re.compile(r"(?:.*/)?suite=([a-z][a-z0-9_]{0,79})/date=(\d{4}-\d\d-\d\d)(?:/.*)?")
_RUN = re.compile(r"runs/([A-Za-z0-9][A-Za-z0-9_.\-]{0,119})/.*")
_GRADER = re.compile(r".*/?grader=([A-Za-z0-9_]{1,80})(?:/.*)?")
_REVISION = re.compile(r"/revision=(\d+)/")


def check_belongs(file: StoredFile, place: AnyPlace, grader: str | None) -> StoredFile:
    """Return a file that was opened at a place, if it is of that place.

    Raises:
        ForeignFileError: naming the place that it is from.
    """
    own = place.folder(file.table.name, grader)
    here = f"{place}, grader {grader}" if grader else str(place)
    said = file.metadata.get(PLACE)
    if said is not None and said != own:
        raise ForeignFileError(file.path, table=file.table.name, here=here, there=_named(said, own))
    for what, there, wanted in _said(file, place):
        if there != wanted:
            shown = f"{what} {_word(there)}"
            raise ForeignFileError(file.path, table=file.table.name, here=here, there=shown)
    kept = _REVISION.search(file.path)
    if kept and file.metadata.get("revision") != str(int(kept.group(1))):
        there = f"revision {_word(file.metadata.get('revision'))}"
        raise ForeignFileError(
            file.path, table=file.table.name, here=f"{here}, revision {int(kept.group(1))}", there=there
        )
    return file


def _said(file: StoredFile, place: AnyPlace) -> Iterator[tuple[str, Any, Any]]:
    """Yield what a file says besides its place: what, what it says, and what this place is."""
    if isinstance(place, AdHoc):
        run_id = file.metadata.get("run_id")
        if run_id:
            yield "run", run_id, place.run_id
    elif isinstance(place, Night):
        suite = file.metadata.get("suite")
        if suite is not None:
            yield "suite", suite, place.suite
        for document in _documents(file):
            if "suite" in document:
                yield "suite", document["suite"], place.suite
            if "date" in document:
                yield "date", document["date"], place.date


def _documents(file: StoredFile) -> Iterator[Mapping[str, Any]]:
    """Yield the documents in a file's metadata that may name suite and date; a broken one is its reader's to name."""
    try:
        document = file.document()
    except (KeyError, ValueError, RecursionError):
        return
    if not isinstance(document, Mapping):
        return
    yield document
    for item in document.get("comparisons") or ():
        if isinstance(item, Mapping) and "suite" in item:
            yield {"suite": item["suite"]}
            if isinstance(item.get("candidate"), Mapping):
                yield {"date": item["candidate"].get("date")}


def _named(folder: str, own: str) -> str:
    """Return a place in words, from the folder that a file names; what is no folder of ours is not repeated."""
    grader = _GRADER.fullmatch(folder)
    of_grader = f", grader {grader.group(1)}" if grader and f"grader={grader.group(1)}/" not in own else ""
    if night := _NIGHT.fullmatch(folder):
        return f"{night.group(1)} on {night.group(2)}{of_grader}"
    if run := _RUN.fullmatch(folder):
        return f"run {run.group(1)}{of_grader}"
    return "another place"


def _word(value: object) -> str:
    """Return a value that a file says, where it is a plain name; anything else may be text."""
    return str(value) if re.fullmatch(r"[A-Za-z0-9_.\-]{1,120}", str(value)) else "that is none"


__all__ = ["PLACE", "check_belongs"]
