"""No run is judged worse for failing less: thresholds and regressions, with and without clusters, in every mode."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.decision.comparison import ComparedCase, ComparedRun, compare
from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts
from spancheck_pipeline.decision.gate import decide
from spancheck_pipeline.decision.gate_settings import GateSettings, Regression
from spancheck_pipeline.decision.regression import regression_rules
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.grading.score import Outcome

GRAVITY = [Answer.FAIL, Answer.NOT_MEASURED, Answer.INCONCLUSIVE, Answer.PASS]
WORDS = {"P": Outcome.PASS, "F": Outcome.FAIL, "U": Outcome.UNMEASURED, "N": Outcome.NOT_APPLICABLE}


def scores(said, clusters):
    return [
        ScoreFacts(
            grader="g",
            case_id=f"{i:03d}",
            cluster=cluster,
            outcome=WORDS[word],
            value={"P": 1.0, "F": 0.0}.get(word),
        )
        for i, (word, cluster) in enumerate(zip(said, clusters, strict=True))
    ]


def threshold_answer(said, clusters, threshold, confidence):
    rows = [RowFacts(case_id=f"{i:03d}", cluster=c, answered=True) for i, c in enumerate(clusters)]
    graders = [GraderFacts(name="g", measurement="g")]
    card = build_scorecard(suite="s", run_id="r", rows=rows, scores=scores(said, clusters), graders=graders)
    settings = GateSettings(min_pass_rate={"g": threshold}, confidence=confidence)
    return next(rule for rule in decide(card, settings).rules if rule.subject == "g").answer


def regression_answer(new, old, clusters, **settings):
    def run(said, run_id):
        cases = {f"{i:03d}": ComparedCase(question_digest=str(i), cluster=c) for i, c in enumerate(clusters)}
        return ComparedRun(run_id=run_id, cases=cases, scores=scores(said, clusters))

    comparison = compare(run(new, "new"), run(old, "old"), suite="s", graders=["g"])
    return next(regression_rules([comparison], Regression(**settings), ["g"], is_blocking=True)).answer


@st.composite
def runs(draw, *, words="PPPPPPFUN"):
    """Clusters (or None) and what two runs say of each case, and the second with more of its cases failing."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 5, 10]), min_size=1, max_size=24))
    has_clusters = draw(st.booleans())
    clusters = [f"d{i}" if has_clusters else None for i, size in enumerate(sizes) for _ in range(size)]
    seed = draw(st.randoms(use_true_random=False))
    share = draw(st.sampled_from([0.0, 0.02, 0.1, 0.3]))
    old = [seed.choice(words) if seed.random() < share else "P" for _ in clusters]
    new = [seed.choice(words) if seed.random() < share else "P" for _ in clusters]
    passing = [i for i, word in enumerate(new) if word == "P"]
    failing = set(seed.sample(passing, min(len(passing), draw(st.integers(0, 5)))))
    return clusters, old, new, ["F" if i in failing else word for i, word in enumerate(new)]


def no_graver(one, other):
    return GRAVITY.index(one) >= GRAVITY.index(other)


def test_two_hundred_of_two_hundred_pass_where_198_do():
    documents = [f"d{i // 10}" for i in range(200)]
    for failing in ((), (0,), (0, 10), (0, 10, 20)):
        said = ["F" if i in failing else "P" for i in range(200)]
        assert threshold_answer(said, documents, 0.9, "lower") is Answer.PASS


def test_an_identical_run_passes_where_one_with_newly_failing_cases_does():
    documents = [f"d{i // 10}" for i in range(300)]
    for failing in ((), (0,), (0, 10), (0, 10, 20)):
        new = ["F" if i in failing else "P" for i in range(300)]
        assert regression_answer(new, "P" * 300, documents, margin=0.1) is Answer.PASS
        assert regression_answer(new, "P" * 300, documents) is Answer.PASS


@given(runs(), st.sampled_from([0.5, 0.8, 0.9, 0.95, 1.0]), st.sampled_from(["count", "lower"]))
def test_a_threshold_that_fails_is_not_reached_by_failing_more(found, threshold, confidence):
    clusters, _, new, worse = found
    before, after = (threshold_answer(said, clusters, threshold, confidence) for said in (new, worse))
    assert before.is_ok or not after.is_ok
    if confidence == "count":
        assert no_graver(before, after)


@given(runs(), st.sampled_from([{}, {"detect": 0.2}, {"margin": 0.05}, {"margin": 0.2}, {"alpha": 0.01}]))
def test_a_regression_is_not_mended_by_failing_more(found, settings):
    clusters, old, new, worse = found
    before, after = (regression_answer(said, old, clusters, **settings) for said in (new, worse))
    assert no_graver(before, after)
