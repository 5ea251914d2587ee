"""Criteria over epochs, worked by hand."""

from __future__ import annotations

import pytest

from spancheck_pipeline.decision.criterion_figures import criteria_figures
from spancheck_pipeline.decision.facts import GraderFacts, ScoreFacts
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.grading.score import Outcome

P, F, U = Outcome.PASS, Outcome.FAIL, Outcome.UNMEASURED


def items(**outcomes):
    """``a_k="PPF"`` is criterion k of case a over three epochs; a dot is an epoch without an outcome."""
    letters = {"P": P, "F": F, "U": U}
    return {
        tuple(name.split("_")): {epoch: letters[letter] for epoch, letter in enumerate(said) if letter != "."}
        for name, said in outcomes.items()
    }


def test_each_criterion_of_each_case_reduces_on_its_own():
    figures = criteria_figures(items(a_k="PPP", a_l="PFP", b_k="FFF", b_l="PUP", c_k="PP."), 3)

    n = figures.counts
    assert (n.n_cases, n.n_pass, n.n_flaky, n.n_fail, n.n_unmeasured) == (5, 1, 1, 1, 2)
    assert [(c.case_id, c.criterion_id) for c in figures.flaky] == [("a", "l")]
    assert [(c.case_id, c.criterion_id) for c in figures.failing] == [("b", "k")]
    # An epoch that failed has no finding: what it would have said is not known.
    assert [(c.case_id, c.criterion_id) for c in figures.unmeasured] == [("b", "l"), ("c", "k")]
    assert {name: (c.n_cases, c.n_pass) for name, c in figures.by_criterion.items()} == {"k": (3, 1), "l": (2, 0)}


def test_pass_hat_k_is_worked_by_hand():
    # Three criteria over n = 4 epochs held c = 4, 2 and 0 times. C(c, k) / C(n, k), averaged over the three:
    # k=1: (4/4 + 2/4 + 0/4) / 3 = 1/2;  k=2: (6/6 + 1/6 + 0/6) / 3 = 7/18;  k=3: (4/4 + 0/4 + 0) / 3 = 1/3;  k=4: 1/3.
    figures = criteria_figures(items(a_k="PPPP", b_k="PFFP", c_k="FFFF"), 4)

    assert [(p.k, p.n_cases) for p in figures.pass_hat_k] == [(1, 3), (2, 3), (3, 3), (4, 3)]
    assert [p.value for p in figures.pass_hat_k] == pytest.approx([1 / 2, 7 / 18, 1 / 3, 1 / 3])


def test_one_epoch_has_no_flakiness_and_no_pass_hat_k():
    figures = criteria_figures(items(a_k="P", b_k="F"), 1)

    assert (figures.flaky, figures.pass_hat_k) == ((), ())
    assert criteria_figures({}, 1) is None


def test_a_scorecard_tells_a_flaky_criterion_in_a_case_that_always_fails():
    # Case a never passes: k fails always, and l now and then. The case is a failure, and l is the flaky one.
    scores = [
        ScoreFacts(grader="c", case_id="a", epoch=epoch, outcome=F, value=0.0, criteria=(("k", F), ("l", outcome)))
        for epoch, outcome in enumerate([P, F])
    ]
    card = build_scorecard(
        suite="s", run_id="r", rows=[], scores=scores, graders=[GraderFacts(name="c", measurement="criteria")]
    )

    figures = card.graders["c"]
    assert (figures.counts.n_fail, figures.counts.n_flaky) == (1, 0)
    assert [(c.case_id, c.criterion_id) for c in figures.criteria.flaky] == [("a", "l")]


def test_criteria_of_a_case_whose_every_call_failed_are_counted_as_unmeasured():
    # Two cases with two criteria each; the calls of the second failed, so that no score of it names them.
    for epochs in (1, 3):
        scores = [
            ScoreFacts(grader="criteria", case_id="a", epoch=e, outcome=P, value=1.0, criteria=(("k", P), ("l", P)))
            for e in range(epochs)
        ] + [
            ScoreFacts(grader="criteria", case_id="b", epoch=e, outcome=U, reason_code="call_failed")
            for e in range(epochs)
        ]
        card = build_scorecard(
            suite="s",
            run_id="r",
            rows=[],
            scores=scores,
            graders=[GraderFacts(name="criteria", measurement="criteria"), GraderFacts(name="other", measurement="x")],
            criteria=[(case, criterion) for case in "ab" for criterion in "kl"] * epochs,
        )
        counts = card.graders["criteria"].criteria.counts
        assert (counts.n_cases, counts.n_pass, counts.n_unmeasured) == (4, 2, 2)
        assert card.graders["other"].criteria is None
