"""A capture that is told to stop: what runs is finished and kept, nothing more is begun, and it can be gone on with."""

from __future__ import annotations

import pytest

from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.target import load_callable
from spancheck_pipeline.errors import BudgetError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.journal import MemoryJournal

CASES = [Case(f"q{n}", f"Question {n}?") for n in range(20)]


def test_a_capture_that_is_told_to_stop_keeps_what_it_has_and_goes_on_later():
    calls: list[str] = []
    seen: list[str] = []
    journal = MemoryJournal()

    def system(question: str) -> str:
        calls.append(question)
        return "Yes."

    def stop(row):
        seen.append(row.case_id)
        return BudgetError("enough") if len(seen) == 5 else None

    with pytest.raises(BudgetError, match="enough"):
        run_capture(
            CASES, load_callable(system), settings=CaptureSettings(concurrency=4), epochs=1, journal=journal, stop=stop
        )

    # Four calls run at once: when the fifth row is recorded, at most three others are under way.
    assert 5 <= len(calls) <= 8
    assert len(journal.recorded_keys()) == len(calls)

    summary = run_capture(CASES, load_callable(system), settings=CaptureSettings(), epochs=1, journal=journal)

    assert summary.n_answered == 20
    assert len(calls) == len(set(calls)) == 20
