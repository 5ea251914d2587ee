"""The manifest of a captured run: counted while rows stream by, put together from what the capture knows, read.

The model lives in ``evidence/run.py``; capturing in ``capturing.py``, reading other tools' files in ``importing.py``.
"""

from __future__ import annotations

import datetime as dt
import math
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from spancheck_pipeline import __version__
from spancheck_pipeline.decision.facts import error_name, safe_name
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.evidence.case import Case, dataset_digest
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, Prices, Usage, cost_usd
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.storage.journal import JournalHeader
from spancheck_pipeline.storage.store import Place, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


def manifest_of(
    header: JournalHeader,
    suite: Suite,
    cases: tuple[Case, ...],
    rows: Iterable[CapturedRow],
    *,
    finished_at: dt.datetime,
    config: str | None = None,
    graders: Sequence[Grader] = (),
) -> Manifest:
    """Return the manifest of a run whose rows are at hand."""
    tally = Tally(suite.prices)
    for _ in tally.counting(rows):
        pass
    return tally.manifest(header, suite, cases, config=config, graders=graders, finished_at=finished_at)


def read_manifest(store: Store, place: Place) -> Manifest:
    """Return the manifest of a captured place."""
    return Manifest.model_validate(store.open(place, CAPTURED_RUN).document())


class Tally:
    """Counts for the manifest, taken while the rows stream by."""

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = prices or {}
        self.costs: list[float] = []
        self.n_rows = 0
        self.n_answered = 0
        self.attempts = 0
        self.retries = 0
        self.errors: Counter[str] = Counter()
        self.finish_reasons: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.versions: dict[str, set[str]] = {}

    def counting(self, rows: Iterable[CapturedRow]) -> Iterator[CapturedRow]:
        """Yield the rows as they are, and count them."""
        for row in rows:
            self._count(row)
            yield row

    def _count(self, row: CapturedRow) -> None:
        self.n_rows += 1
        self.attempts += row.attempts
        self.retries += max(0, row.attempts - 1)
        if row.output is None:
            self.errors[error_name(row.error_class)] += 1
            return
        self.n_answered += 1
        cost = cost_usd(row.output, self._prices)
        if cost is not None:
            self.costs.append(cost)
        if row.output.finish_reason:
            self.finish_reasons[safe_name(row.output.finish_reason, other="other")] += 1
        if row.output.served_model:
            self.models[safe_name(row.output.served_model, other="(unreadable name)")] += 1
        for name in Usage.model_fields:
            value = getattr(row.output.usage, name)
            if name.endswith("_tokens") and value is not None:
                self.tokens[name] += value
        # What a target reports of itself may be any text, and a manifest holds none.
        for name, version in row.output.versions.items():
            known = self.versions.setdefault(safe_name(name, other="other"), set())
            known.add(safe_name(version, other="(unreadable version)"))

    def manifest(
        self,
        header: JournalHeader,
        suite: Suite,
        cases: tuple[Case, ...],
        *,
        config: str | None,
        graders: Sequence[Grader] = (),
        finished_at: dt.datetime,
    ) -> Manifest:
        """Return the manifest of the run whose rows were counted."""
        settings = suite.target
        return Manifest(
            run_id=header.run_id,
            suite=header.suite,
            date=header.date,
            config=config,
            dataset_digest=dataset_digest(cases),
            n_cases=len(cases),
            criteria=dict(sorted(Counter(criterion.id for case in cases for criterion in case.criteria).items())),
            epochs=header.epochs,
            target=header.target,
            settings={
                "concurrency": settings.concurrency,
                "timeout_s": settings.timeout_s,
                "retries": settings.retries,
                "rate_limit_per_minute": settings.rate_limit_per_minute,
            },
            prices=dict(suite.prices),
            started_at=header.started_at,
            finished_at=finished_at,
            package_version=__version__,
            python_version=platform.python_version(),
            git_commit=_git_commit(),
            n_rows=self.n_rows,
            n_answered=self.n_answered,
            errors=dict(sorted(self.errors.items())),
            finish_reasons=dict(sorted(self.finish_reasons.items())),
            attempts=self.attempts,
            retries=self.retries,
            tokens=dict(sorted(self.tokens.items())),
            served_models=dict(sorted(self.models.items())),
            versions={name: tuple(sorted(found)) for name, found in sorted(self.versions.items())},
            cost_usd=math.fsum(self.costs) if self.costs and len(self.costs) == self.n_answered else None,
            n_unpriced=self.n_answered - len(self.costs),
            graders={grader.name: spec_of(grader).as_dict() for grader in graders},
        )


def _git_commit() -> str | None:
    """Return the commit of the working folder, None where git or a repository is missing."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 - whichever git the user has
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
