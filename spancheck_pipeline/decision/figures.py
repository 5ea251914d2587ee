"""The figures that a scorecard carries: counts, rates, cost, latency; numbers, ids and digests, never text.

How they are computed from scores lives in ``scorecard.py``; the formulas in ``stats.py``; what follows in ``gate.py``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.standing import NOT_KNOWN, Standing
from spancheck_pipeline.evidence.canonical import CONTRACT, digest

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Counts(BaseModel):
    """How many cases came out how. A case counts once, whatever its epochs; the five parts add up to ``n_cases``."""

    model_config = _FROZEN

    n_cases: int = Field(default=0, ge=0)
    n_pass: int = Field(default=0, ge=0)
    n_fail: int = Field(default=0, ge=0)
    n_flaky: int = Field(default=0, ge=0)
    """Cases whose measured epochs disagree; they count against the pass rate."""
    n_not_applicable: int = Field(default=0, ge=0)
    n_unmeasured: int = Field(default=0, ge=0)
    """Cases of which at least one epoch could not be measured, or has no score at all."""

    @property
    def n_measured(self) -> int:
        """Cases that a rate rests on."""
        return self.n_pass + self.n_fail + self.n_flaky

    @property
    def n_applicable(self) -> int:
        """Cases that there was something to measure in."""
        return self.n_measured + self.n_unmeasured


class Rate(BaseModel):
    """A share or a mean in [0, 1] with its 95 % interval."""

    model_config = _FROZEN

    value: float | None = Field(default=None, ge=0, le=1)
    """None where nothing was measured; then the bounds are None too."""
    low: float | None = Field(default=None, ge=0, le=1)
    high: float | None = Field(default=None, ge=0, le=1)
    n: int = Field(default=0, ge=0)
    """Cases (for a mean: scores) that it rests on."""
    n_clusters: int | None = None
    """Clusters that these fall into; None where every case stands for itself."""
    few_clusters: bool = False
    """Whether there are too few clusters (below 20) for the interval to be taken at its word."""


class LowerBound(BaseModel):
    """What ``confidence: lower`` decides by: a lower bound of a pass rate that no further failure raises.

    The unmeasured cases are taken as failed in it, so that it may lie below the interval that is shown.
    """

    model_config = _FROZEN

    value: float = Field(ge=0, le=1)
    n_further_failures: int = Field(default=0, ge=0)
    """Failures beyond this run's at which the interval begins here; 0 where it is this run's own bound."""
    n_clusters: int | None = None
    """Clusters of the applicable cases; None where every case stands for itself."""


class PassHatK(BaseModel):
    """The chance that ``k`` runs of a case all pass, averaged over cases."""

    model_config = _FROZEN

    k: int = Field(ge=1)
    value: float = Field(ge=0, le=1)
    n_cases: int = Field(ge=1)
    """Cases with at least ``k`` measured epochs and none unmeasured."""


class CategoryFigures(BaseModel):
    """What one grader says of the cases of one category."""

    model_config = _FROZEN

    counts: Counts
    pass_rate: Rate
    mean_score: Rate


class CriterionOfCase(BaseModel):
    """One criterion of one case, by their ids."""

    model_config = _FROZEN

    case_id: str
    criterion_id: str


class CriteriaFigures(BaseModel):
    """What a run's criteria come to. What is counted is a criterion of a case, once, whatever its epochs."""

    model_config = _FROZEN

    counts: Counts
    """``n_cases`` is the number of criteria of cases here."""
    by_criterion: dict[str, Counts] = Field(default_factory=dict)
    """Criterion id → counts over the cases that have one of that id."""
    failing: tuple[CriterionOfCase, ...] = ()
    flaky: tuple[CriterionOfCase, ...] = ()
    """Those that held in some epochs and not in others."""
    unmeasured: tuple[CriterionOfCase, ...] = ()
    pass_hat_k: tuple[PassHatK, ...] = ()
    """Over criteria of cases; empty with one epoch."""


class GraderFigures(BaseModel):
    """What one grader says of a run."""

    model_config = _FROZEN

    name: str
    measurement: str
    version: str
    spec_digest: str
    counts: Counts
    pass_rate: Rate
    """n_pass / (n_pass + n_fail + n_flaky)."""
    lower_bound: LowerBound | None = None
    """Of the pass rate; None where nothing was applicable, and in documents that were made before it was kept."""
    mean_score: Rate
    """Mean value of the scores of the measured cases, each epoch on its own; it rests on the cases of the rate."""
    by_category: dict[str, CategoryFigures] = Field(default_factory=dict)
    """Category → its figures; empty where no case has a category. Cases without one are under ``(none)``."""
    reason_codes: dict[str, int] = Field(default_factory=dict)
    """Scores (case × epoch) by reason code; ``no_score`` counts those that are missing."""
    unmeasured_codes: dict[str, int] = Field(default_factory=dict)
    """Those of them that are unmeasured."""
    failing_case_ids: tuple[str, ...] = ()
    flaky_case_ids: tuple[str, ...] = ()
    unmeasured_case_ids: tuple[str, ...] = ()
    pass_hat_k: tuple[PassHatK, ...] = ()
    """Empty with one epoch; k = 1 … 10 and the number of epochs otherwise."""
    judges: tuple[str, ...] = ()
    """Judges whose verdicts its scores rest on."""
    criteria: CriteriaFigures | None = None
    """Each criterion on its own; None for a grader whose findings are no criteria."""


class Hallucination(BaseModel):
    """Share of measured, asserting answers with at least one assertion that their passages do not support."""

    model_config = _FROZEN

    grader: str
    """The grader whose findings say so: the suite's first groundedness grader."""
    rate: Rate
    n_hallucinating: int = Field(ge=0)
    """Cases with an unsupported assertion in any epoch."""
    n_asserting: int = Field(ge=0)
    """Measured cases that assert something: the denominator."""
    n_not_applicable: int = Field(ge=0)
    n_unmeasured: int = Field(ge=0)


class Cost(BaseModel):
    """What the answers of a run cost, in USD. Failed calls are not in it: what they cost is not reported."""

    model_config = _FROZEN

    total_usd: float | None = None
    """None where any answer's cost is unknown, or nothing was answered."""
    mean_usd: float | None = None
    """Per answer; None as the total."""
    priced_total_usd: float = 0.0
    """Sum over the priced answers alone: a lower bound of the total."""
    n_priced: int = 0
    n_unpriced: int = 0
    n_without_usage: int = 0
    """Unpriced answers that do not report input and output tokens; the other unpriced ones lack a price."""
    unpriced_models: tuple[str, ...] = ()
    """Served models of the unpriced answers; ``(not reported)`` where the answer names none."""
    models_without_price: tuple[str, ...] = ()
    """Those of them whose answers report their tokens, so that only a price is missing."""


class Quantiles(BaseModel):
    """Distribution of a time in milliseconds; quantiles by linear interpolation, None without values."""

    model_config = _FROZEN

    n: int = 0
    mean_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None


class Latency(BaseModel):
    """How long the answers of a run took."""

    model_config = _FROZEN

    answer: Quantiles = Quantiles()
    """The attempt that answered."""
    total: Quantiles = Quantiles()
    """All attempts of an answered call and the waits between them."""
    n_unknown: int = 0
    """Rows without a time for ``answer``: failed calls, and recorded answers that came without one."""
    p95_if_unknown_fast_ms: float | None = None
    """The 95 % quantile of ``answer`` over all rows with every unknown time taken as 0."""
    p95_if_unknown_slow_ms: float | None = None
    """The same with every unknown time taken as endless; None where that makes it endless."""


class Tokens(BaseModel):
    """Tokens of one kind, as reported."""

    model_config = _FROZEN

    total: int | None = None
    """Sum over the answers that report them; None where none does."""
    n_reported: int = 0


class Headline(BaseModel):
    """The four figures that stand first."""

    model_config = _FROZEN

    citation_accuracy: Rate | None = None
    """Pass rate of the suite's first citation-accuracy grader; None where it has none."""
    abstention_correctness: Rate | None = None
    """Pass rate of the suite's first abstention grader; None where it has none."""
    hallucination: Hallucination | None = None
    """None where the suite has no groundedness grader."""
    cost: Cost = Cost()
    latency: Latency = Latency()


class CorrectedRate(BaseModel):
    """A judge's rate without the errors that its calibration shows it to make, with its 95 % interval."""

    model_config = _FROZEN

    method: Literal["rogan_gladen", "ppi++"]
    """``ppi++`` where the gold set is a random slice of the suite's answers, else ``rogan_gladen``."""
    value: float = Field(ge=0, le=1)
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)


class JudgeFigures(BaseModel):
    """What one judge said in a run, and whether it is trusted."""

    model_config = _FROZEN

    name: str
    kind: Literal["judge", "panel"]
    client: str
    """``openai``, ``command`` …; ``stub`` is not a judge."""
    model: str | None = None
    prompt: str | None = None
    prompt_digest: str | None = None
    threshold: float
    runs: int = 1
    graders: tuple[str, ...]
    """Graders whose scores rest on it."""
    served_models: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Judge that was asked (of a panel, its members) → the models that answered."""
    n_packets: int = Field(ge=0)
    """Distinct questions to it: a claim, sentence or criterion with its evidence."""
    failures: dict[str, int] = Field(default_factory=dict)
    """Packets without an opinion, by reason code. They are in no rate."""
    n_unstable: int = Field(default=0, ge=0)
    """Packets on which its repeats disagree."""
    raw: Rate
    """Share of the judged packets that it says are supported; packets of one case or cluster go together."""
    corrected: CorrectedRate | None = None
    """None where no calibration is of exactly this judge, or the judge is no better than chance."""
    standing: Standing


class AdjudicatedFigures(BaseModel):
    """What one grader says of a run where people's dispositions are applied. The raw figures stand beside it."""

    model_config = _FROZEN

    counts: Counts
    pass_rate: Rate
    lower_bound: LowerBound | None = None
    n_confirmed: int = 0
    """Findings that a person agrees with; this changes no figure."""
    n_passes: int = 0
    """Findings that should have passed."""
    n_fails: int = 0
    """Findings that should have failed."""
    n_waived: int = 0
    """Findings that are accepted until they expire."""
    n_expired: int = 0
    """Dispositions that hold no more."""
    n_stale: int = 0
    """Dispositions of findings that say something else now; they are not applied."""


class Adjudicated(BaseModel):
    """What people's signed-off dispositions come to. It holds no text."""

    model_config = _FROZEN

    graders: dict[str, AdjudicatedFigures] = Field(default_factory=dict)
    """Grader → its figures; only those that have dispositions."""
    hallucination: Hallucination | None = None
    """None where the groundedness grader has none."""
    n_elsewhere: int = 0
    """Dispositions of another capture of this place, or of graders that it has no more; they are not applied."""
    next_expiry: datetime | None = None
    """UTC instant from which on these figures are others."""


class ScorecardDocument(BaseModel):
    """Counts and rates of one captured run under one set of graders. It holds no text of cases or answers."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    suite: str
    run_id: str
    date: str | None = None
    """The partition's date, YYYY-MM-DD; None for an ad-hoc run."""
    config: str | None = None
    """Name of the suite's other configuration that ran; None for the main one."""
    headline: Headline
    n_cases: int
    epochs: int
    n_rows: int
    n_answered: int
    calls: Counts
    """Cases by whether the system answered, as the grader ``completion`` measures it: fail where a call failed or its
    answer is empty, unmeasured where a row is missing."""
    calls_lower_bound: LowerBound | None = None
    """Of the share of answered cases."""
    graders: dict[str, GraderFigures]
    """Grader name → its figures, in the suite's order."""
    judges: dict[str, JudgeFigures] = Field(default_factory=dict)
    """Judge → what it said and where it stands; empty where no grader rests on one."""
    errors: dict[str, int] = Field(default_factory=dict)
    """Rows that failed for good, by error class."""
    attempts: int = 0
    """Calls made in all."""
    retries: int = 0
    """Calls beyond the first of each row."""
    tokens: dict[str, Tokens] = Field(default_factory=dict)
    """``input``, ``output``, ``cached_input`` (in input), ``reasoning`` (in output)."""
    served_models: dict[str, int] = Field(default_factory=dict)
    """Answers by the model that gave them."""
    attributions: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Why answers failed → ids of the cases: ``not_retrieved``, ``ignored``, ``invented``, ``wrongly_declined``,
    ``wrongly_answered``, ``other``. A case stands under each reason that one of its epochs has."""
    adjudicated: Adjudicated | None = None
    """Rates under the dispositions that people signed; None where nobody signed any."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """Digests of what it was made from, as the caller names them."""

    def not_gating(self, grader: str) -> dict[str, Standing]:
        """Return the judges that a grader's scores rest on and that may not gate, with where they stand."""
        figures = self.graders.get(grader)
        names = figures.judges if figures else ()
        stands = {name: self.judges[name].standing if name in self.judges else NOT_KNOWN for name in names}
        return {name: found for name, found in stands.items() if not found.gates}

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical document: what a decision says it rests on."""
        return digest(self.model_dump(mode="json"))
