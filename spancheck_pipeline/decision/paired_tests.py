"""The tests of a night: each grader that gates against each baseline, and what each of them could have seen.

What the gate makes of them is in ``regression.py``, what is shown beside a comparison in ``difference.py``; the
formulas are in ``stats/paired.py`` and ``stats/flips.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from spancheck_pipeline import stats
from spancheck_pipeline.decision.comparison import Baseline, ComparisonDocument, PairedFigures
from spancheck_pipeline.decision.gate_settings import Regression
from spancheck_pipeline.decision.paired_figures import Lost


@dataclass(frozen=True, kw_only=True)
class RegressionTest:
    """One grader against one baseline, tested together with all the others of the night."""

    grader: str
    baseline_kind: Baseline
    baseline_run_id: str
    figures: PairedFigures
    flips: stats.Flips
    """The pairs, with what this run could not measure left out or taken for one thing."""
    p_adjusted: float
    """Holm over all tests of the night."""
    alpha: float
    """What the strictest step of Holm leaves for this test, which is what a promise of power must reckon with."""
    detect: float
    """The drop that the suite asks to be seen, or to be excluded."""

    @property
    def too_few_units(self) -> bool:
        """Whether a loss in every unit that could lose something would not be significant."""
        return self.flips.n_fallible < stats.fewest_units(self.alpha)

    @cached_property
    def seen(self) -> Seen:
        """What four nights in five would have seen.

        Never less than a night with more failures that is not yet significant: the fewer flips there are, the less they
        tell how far cases of a document go together, and a night is not judged worse for that (docs/decisions/0015).
        """
        if not self.flips.n or self.too_few_units:
            return Seen(None, self.flips, is_enough=False)
        # Without more losses than gains nothing is significant, so that its p-value need not be worked out.
        for flips in self.flips.no_better(lambda flips: flips.total.net <= 0 or flips.p_value > self.alpha):
            if stats.sees_drop(self.detect, int(flips.n_independent), flips.churn, self.alpha):
                drop = _detectable(flips, self.alpha)
                return Seen(self.detect if drop is None else min(drop, self.detect), flips, is_enough=True)
        return Seen(_detectable(self.flips, self.alpha), self.flips, is_enough=False)

    @property
    def detectable_drop(self) -> float | None:
        """The smallest true drop that four nights in five would have seen; None where there is none."""
        return self.seen.drop

    @property
    def needed(self) -> Needed:
        """How many cases, or documents where cases share them, would see a drop of ``detect`` as often."""
        flips = self.flips
        n_cases = stats.cases_needed(self.detect, flips.churn, self.alpha)
        if n_cases is None or not flips.is_clustered:
            return Needed(n_cases, None)
        fewest = stats.fewest_units(self.alpha)
        a_unit = flips.n_independent / len(flips.units) if flips.units else 1.0
        return Needed(None, max(fewest, math.ceil(n_cases / a_unit)))


class Seen(NamedTuple):
    """A drop that would have been seen, and the pairs that say so."""

    drop: float | None
    """None where no drop would have been."""
    flips: stats.Flips
    is_enough: bool
    """Whether it is at most what the suite asks to be seen."""


class Needed(NamedTuple):
    """How much more would see what a suite asks for: cases, or documents where cases share them."""

    n_cases: int | None
    n_clusters: int | None

    def __str__(self) -> str:
        if self.n_clusters is not None:
            return f"about {self.n_clusters} documents"
        return "" if self.n_cases is None else f"about {self.n_cases} independent cases"


def regression_tests(
    comparisons: Sequence[ComparisonDocument], settings: Regression, graders: Sequence[str], *, lost: Lost = "left out"
) -> list[RegressionTest]:
    """Return every test of the night: each gating grader against each comparable baseline.

    A run that is both the release baseline and the last good one is tested once. ``lost`` says what is made of cases
    that the baseline measured and this run could not.
    """
    found: dict[tuple[str, str], tuple[Baseline, PairedFigures]] = {}
    for comparison in comparisons:
        if comparison.is_comparable:
            for name in graders:
                if name in comparison.graders:
                    key = (name, comparison.baseline.run_id)
                    found.setdefault(key, (comparison.baseline_kind, comparison.graders[name]))
    flips = [figures.flips(lost) for _, figures in found.values()]
    adjusted = stats.holm([item.p_value for item in flips])
    return [
        RegressionTest(
            grader=name,
            baseline_kind=kind,
            baseline_run_id=run_id,
            figures=figures,
            flips=pairs,
            p_adjusted=p_adjusted,
            alpha=settings.alpha / len(found),
            detect=settings.margin or settings.detect,
        )
        for ((name, run_id), (kind, figures)), pairs, p_adjusted in zip(found.items(), flips, adjusted, strict=True)
    ]


def _detectable(flips: stats.Flips, alpha: float) -> float | None:
    n = int(flips.n_independent)
    return stats.detectable_drop(n, flips.churn, alpha) if n else None
