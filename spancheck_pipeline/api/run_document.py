"""An audit log as a document, read: ours (2.0) or the earlier library's (1.0), checked to be whole.

The run that it becomes lives in ``run.py``; a log that stands in the storage is read by ``audit_logs.py``.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spancheck_pipeline.api.case_result import CaseResult, grade_from
from spancheck_pipeline.decision.audit import AuditHead, AuditRecord, log_of
from spancheck_pipeline.decision.figures import JudgeFigures
from spancheck_pipeline.errors import ConfigError, Problem
from spancheck_pipeline.evidence.run import Manifest
from spancheck_pipeline.importers.spancheck_1_0 import is_earlier_document, read_earlier_document
from spancheck_pipeline.storage.audit_files import check_version, is_lines, read_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContents:
    """What a document says of a run."""

    results: tuple[CaseResult, ...]
    suite: str
    run_id: str
    manifest: Manifest | None = None
    specs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Grader → the whole readable spec that made its grades."""
    judges: tuple[JudgeFigures, ...] = ()
    redacted: tuple[str, ...] = ()
    """What it leaves out; empty for a whole one."""


def contents_of(document: Mapping[str, Any], name: str) -> RunContents:
    """Return what an audit log says, ours or the earlier library's; ``name`` stands in messages.

    Raises:
        ConfigError: for a document that is none of these, or holds a part of a run.
        ContractError: for one of another contract or schema version.
    """
    if is_earlier_document(document):
        found = read_earlier_document(document, name)
        return RunContents(
            results=tuple(CaseResult.of(item.case, item.row, list(item.grades)) for item in found),
            suite="imported",
            run_id=f"imported-{name.rpartition('/')[2]}"[:100],
        )
    if document.get("schema_version") is None:
        raise ConfigError(name, [Problem(what="not an audit log: it states no schema_version")])
    check_version(document, name)
    head, records = _validated(document, name)
    _check_whole(head, records, name)
    return contents_of_records(head, records)


def _check_whole(head: AuditHead, records: Sequence[AuditRecord], name: str) -> None:
    """Refuse a log whose records are not those that its summary counts: a part of a run would look like the run.

    Raises:
        ConfigError: naming both numbers, or the record that stands twice.
    """
    keys = Counter(record.call.key for record in records)
    problems = [Problem(what=f"case {key[0]!r}, epoch {key[1]}, stands twice") for key, n in keys.items() if n > 1]
    if len(records) != head.summary.n_rows:
        what = f"holds {len(records)} records, and its summary counts {head.summary.n_rows}"
        problems.append(Problem(what=what, fix="export the whole log again"))
    if problems:
        raise ConfigError(name, problems)


def contents_of_records(head: AuditHead, records: Iterable[AuditRecord]) -> RunContents:
    """Return what an audit log says, with the grades that stand in it."""
    return RunContents(
        results=tuple(
            CaseResult.of(record.case, record.call, [grade_from(score) for score in record.scores])
            for record in records
        ),
        manifest=head.manifest,
        suite=head.suite,
        run_id=head.run_id,
        specs=head.graders,
        judges=tuple(head.summary.judges.values()),
        redacted=tuple(head.redacted),
    )


def _validated(document: Mapping[str, Any], name: str) -> tuple[AuditHead, tuple[AuditRecord, ...]]:
    from pydantic import ValidationError

    try:
        head, records = log_of(document)
        for record in records:
            for score in record.scores:
                score.score()
    except ValidationError as error:
        problems = [
            Problem(what=f"{'.'.join(map(str, item['loc']))}: {item['type']}")
            for item in error.errors(include_input=False, include_url=False, include_context=False)
        ]
        raise ConfigError(name, problems) from None
    except (KeyError, TypeError) as error:
        raise ConfigError(name, [Problem(what=f"holds a record that is none ({type(error).__name__})")]) from None
    except ValueError as error:
        raise ConfigError(name, [Problem(what=f"holds a score that cannot be: {error}")]) from None
    return head, records


def read_document(path: Path) -> Mapping[str, Any]:
    """Return the JSON object of a file; an audit log in JSON lines as the object that it would be.

    Raises:
        ConfigError: when there is no such file, or it is not a JSON object in UTF-8.
    """
    if is_lines(path):
        return read_lines(path)
    try:
        document = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(str(path), [Problem(what=f"cannot be read ({os.strerror(error.errno or 0)})")]) from None
    except json.JSONDecodeError as error:
        what = "not JSON"
        raise ConfigError(str(path), [Problem(what=what, line=error.lineno, column=error.colno)]) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(str(path), [Problem(what=f"not a JSON file in UTF-8 ({type(error).__name__})")]) from None
    if not isinstance(document, dict):
        raise ConfigError(str(path), [Problem(what="not an audit log: the file holds no JSON object")])
    return document


def write_document(document: Mapping[str, Any], path: Path) -> None:
    """Write a JSON document, all of it or nothing: a temporary file beside it, then a rename."""
    from spancheck_pipeline.storage.documents import write_text

    write_text(path, json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
