"""The baselines of a run as the page shows them: one that is both the release and the last good run stands there once.

What a comparison says lives in ``decision/comparison.py``; what the page makes of it in ``overview.py`` and
``page.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spancheck_pipeline.decision.comparison import ComparisonDocument
from spancheck_pipeline.report.html import wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """One baseline that a run stands beside."""

    comparison: ComparisonDocument
    label: str
    """What it is, in words; all of it, where it is more than one thing."""

    @property
    def kind(self) -> str:
        """Its name in the page's data: the first thing that it is."""
        return self.comparison.baseline_kind

    @property
    def where(self) -> str:
        """Its date, or the id of a run that has none."""
        return self.comparison.baseline.date or self.comparison.baseline.run_id


def beside(comparisons: Sequence[ComparisonDocument]) -> tuple[Beside, ...]:
    """Return the baselines of a run, each run once, in the order of the comparisons.

    Two comparisons are of one baseline where they say the same in everything but what the baseline is called.
    """
    alike: list[list[ComparisonDocument]] = []
    for item in comparisons:
        same = next((group for group in alike if _is_same(group[0], item)), None)
        if same is None:
            alike.append([item])
        else:
            same.append(item)
    return tuple(
        Beside(
            comparison=group[0],
            label=" and ".join(dict.fromkeys(wording.BASELINES[item.baseline_kind] for item in group)),
        )
        for group in alike
    )


def _is_same(one: ComparisonDocument, other: ComparisonDocument) -> bool:
    return one == other.model_copy(update={"baseline_kind": one.baseline_kind})
