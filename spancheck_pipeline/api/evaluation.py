"""Evaluating a system from Python: call it once per case × epoch, grade what came back, return a ``Run``."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spancheck_pipeline.api.capture_begin import new_run_id
from spancheck_pipeline.api.case_result import CaseResult, grade_cases
from spancheck_pipeline.api.manifest import manifest_of
from spancheck_pipeline.api.provided import provided_verdicts
from spancheck_pipeline.api.run import Run, distinct
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.target import load_callable
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.case import Case, dataset_digest
from spancheck_pipeline.evidence.complaints import dotted, worded
from spancheck_pipeline.evidence.verdict import NO_VERDICTS
from spancheck_pipeline.grading.grader import as_grader, spec_of
from spancheck_pipeline.grading.graders import default_graders
from spancheck_pipeline.storage.case_files import read_cases
from spancheck_pipeline.storage.file_journal import FileJournal
from spancheck_pipeline.storage.journal import JournalHeader, MemoryJournal, questions_digest


def evaluate(  # noqa: PLR0917 - the earlier library's signature
    cases: Iterable[Case] | str | os.PathLike[str],
    system: Callable[..., Any],
    graders: Iterable[Any] | None = None,
    on_case: Callable[[CaseResult], Any] | None = None,
    retries: int = 0,
    backoff: float = 3.0,
    delay: float = 0.0,
    *,
    epochs: int = 1,
    concurrency: int = 1,
    timeout_s: float = 60.0,
    version: str | None = None,
    prices: dict[str, Any] | None = None,
    suite: str = "adhoc",
    journal: str | os.PathLike[str] | None = None,
) -> Run:
    """Call a system once per case × epoch, grade the outputs, and return the run.

    ``cases`` are cases, or the path of a cases file. ``system`` is any callable, sync or async, ``input -> str | dict |
    Output``; one that takes two arguments also gets the history. It runs in worker threads. ``graders`` default to
    ``default_graders()``; ``on_case`` is called with each result, in order, when it is graded. ``retries`` come after
    the first attempt, ``backoff`` is the first wait in seconds, ``delay`` the seconds between two calls.

    Judges that are functions (``llm_judge``) are asked after the capture and before the grading.

    With ``journal`` (a file), every finished call is stored durably, and an interrupted evaluation that is started
    again calls only for what is missing.

    Raises:
        UsageError: for cases with the same id, graders with the same name, or settings that cannot be.
    """
    checked = distinct([as_grader(item) for item in (default_graders() if graders is None else graders)])
    asked = _cases(cases)
    settings = _suite(
        suite,
        retries=retries,
        backoff=backoff,
        delay=delay,
        epochs=epochs,
        concurrency=concurrency,
        timeout_s=timeout_s,
        prices=prices,
    )
    target = load_callable(system, version=version)
    header = JournalHeader(
        run_id=new_run_id(suite, None),
        suite=suite,
        date=None,
        config=None,
        mode="capture",
        dataset_digest=dataset_digest(asked),
        questions_digest=questions_digest(asked),
        target=target.facts,
        epochs=epochs,
        started_at=dt.datetime.now(dt.UTC),
        base_revision=None,
    )
    store: FileJournal | MemoryJournal = FileJournal(Path(journal), header) if journal is not None else MemoryJournal()
    try:
        run_capture(asked, target, settings=settings.target, epochs=epochs, journal=store)
        rows = list(store.rows([(case.id, epoch) for case in asked for epoch in range(epochs)]))
    finally:
        store.close()
    if isinstance(store, FileJournal):
        header = store.header
    by_id = {case.id: case for case in asked}
    results: list[CaseResult] = []
    verdicts = provided_verdicts(((by_id[row.case_id], row) for row in rows), checked, NO_VERDICTS)
    for result in grade_cases(((by_id[row.case_id], row) for row in rows), checked, verdicts):
        results.append(result)
        if on_case is not None:
            on_case(result)
    manifest = manifest_of(header, settings, asked, rows, graders=checked, finished_at=dt.datetime.now(dt.UTC))
    return Run(
        results,
        manifest=manifest,
        specs={grader.name: spec_of(grader).as_dict() for grader in checked},
        graders=checked,
        verdicts=verdicts,
    )


run_eval = evaluate
"""The earlier library's other name of ``evaluate``."""


def _cases(cases: Iterable[Case] | str | os.PathLike[str]) -> tuple[Case, ...]:
    if isinstance(cases, str | os.PathLike):
        return read_cases(Path(cases))
    asked = tuple(cases)
    twice = [case_id for case_id, n in Counter(case.id for case in asked).items() if n > 1]
    if twice:
        raise UsageError(f"{len(twice)} case ids stand twice, the first is {twice[0]!r}; give every case its own id")
    if not asked:
        raise UsageError("there are no cases to evaluate")
    return asked


def _suite(
    name: str,
    *,
    retries: int,
    backoff: float,
    delay: float,
    epochs: int,
    concurrency: int,
    timeout_s: float,
    prices: dict[str, Any] | None,
) -> Suite:
    try:
        return Suite(
            contract=1,
            name=name,
            epochs=epochs,
            prices=prices or {},
            graders={},
            target=Target(
                callable="python",
                retries=retries,
                backoff_s=backoff,
                rate_limit_per_minute=60 / delay if delay > 0 else None,
                concurrency=concurrency,
                timeout_s=timeout_s,
            ),
        )
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise UsageError(f"{dotted(first['loc'])}: {worded(first)}") from None
