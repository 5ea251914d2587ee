"""The folder of a suite that does not exist yet, made around what was imported, so that it can be scored at once."""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow

GRADERS = ("citation_accuracy", "abstention_correct", "groundedness", "no_pii")
"""Graders that need no settings."""


def write_suite(folder: Path, name: str, cases: Iterable[Case], rows: Iterable[CapturedRow], *, origin: str) -> None:
    """Write ``suite.yaml``, ``cases.jsonl`` and ``answers.jsonl`` (the first epoch) into a new folder, or none of them.

    Raises:
        FileExistsError: when the folder is there already.
    """
    if folder.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))
    # Hidden until it is whole, so that no half suite is ever one.
    unfinished = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}")
    unfinished.mkdir(parents=True)
    try:
        _write_files(unfinished, name, cases, rows, origin=origin)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _write_files(folder: Path, name: str, cases: Iterable[Case], rows: Iterable[CapturedRow], *, origin: str) -> None:
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        for case in cases:
            fields = {"id": case.id, "input": case.input, **case.model_dump(mode="json", exclude_defaults=True)}
            file.write(json.dumps(fields, ensure_ascii=False) + "\n")
    with (folder / "answers.jsonl").open("w", encoding="utf-8") as file:
        for row in rows:
            if row.output is not None and row.epoch == 0:
                answered = {"case_id": row.case_id, "answer": row.output.answer}
                fields = {**answered, **row.output.model_dump(mode="json", exclude_defaults=True)}
                file.write(json.dumps(fields, ensure_ascii=False) + "\n")
    graders = "".join(f"  {grader}: {{}}\n" for grader in GRADERS)
    (folder / "suite.yaml").write_text(
        f"contract: 1\nname: {name}\ndescription: {json.dumps('Imported from ' + origin)}\n"
        f"target: {{recorded: answers.jsonl}}   # or your system: callable, http, command\ngraders:\n{graders}",
        encoding="utf-8",
    )
