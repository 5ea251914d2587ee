import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scenario import AT

from spancheck_pipeline.decision.adjudication import (
    WHOLE,
    Adjudication,
    Disposition,
    finding_digest,
    reviewed,
    standing,
)
from spancheck_pipeline.grading.score import Outcome

LATER = AT + dt.timedelta(days=30)
WHOLE_SCORE = {"outcome": "fail", "value": 0.0, "reason_code": "below", "reason": "half"}


def finding(item: str, outcome: str = "fail") -> dict:
    return {"item": item, "kind": "citation", "outcome": outcome, "reason": f"about {item}"}


def signed(item: str = "a", disposition: str = "passes", *, of: dict | None = None, **fields) -> Adjudication:
    said = of or (WHOLE_SCORE if item == WHOLE else finding(item))
    if disposition == "waived":
        fields = {"expires_at": LATER, **fields}
    return Adjudication(
        run_id="r", grader="g", case_id="q", epoch=0, item=item, finding_digest=finding_digest(said),
        outcome=Outcome(said["outcome"]), disposition=Disposition(disposition),
        **{"reason": "because", "author": "me", "signed_at": AT, **fields},
    )  # fmt: skip


def under(*given: Adjudication, outcome="fail", findings=None, at=AT):
    findings = [finding("a"), finding("b"), finding("c", "pass")] if findings is None else findings
    return reviewed(Outcome(outcome), findings, {item.item: item for item in given}, at=at, whole=WHOLE_SCORE)


def test_a_score_passes_when_every_finding_that_failed_should_have_passed():
    found = under(signed("a"), signed("b", "waived"))

    assert (found.outcome, found.n_unsupported, len(found.applied)) == (Outcome.PASS, 0, 2)


def test_a_score_still_fails_while_one_finding_that_failed_stands():
    found = under(signed("a"), signed("b", "confirmed"))

    assert (found.outcome, found.n_unsupported) == (Outcome.FAIL, 1)


def test_a_score_that_passed_fails_when_a_person_says_so_of_one_finding():
    found = under(signed("c", "fails", of=finding("c", "pass")), outcome="pass", findings=[finding("c", "pass")])

    assert found.outcome is Outcome.FAIL


def test_a_disposition_of_the_whole_decides():
    assert under(signed(WHOLE), outcome="fail").outcome is Outcome.PASS
    assert under(signed(WHOLE, "confirmed")).outcome is Outcome.FAIL


@pytest.mark.parametrize("kind", [kind.value for kind in Disposition])
def test_nobody_waves_through_what_could_not_be_measured(kind):
    assert under(signed(WHOLE, kind), outcome="unmeasured", findings=[]).outcome is Outcome.UNMEASURED
    unread = finding("a", "unmeasured")
    assert under(signed("a", kind, of=unread), outcome="unmeasured", findings=[unread]).outcome is Outcome.UNMEASURED


def test_a_score_whose_failures_are_excused_is_unmeasured_where_a_finding_was_not_measured():
    found = under(signed("a", "waived"), findings=[finding("a"), finding("b", "unmeasured")])

    assert (found.outcome, found.n_unsupported) == (Outcome.UNMEASURED, 0)


def test_a_waiver_holds_until_it_expires():
    waivers = [signed("a", "waived"), signed("b", "waived")]

    assert under(*waivers, at=LATER - dt.timedelta(microseconds=1)).outcome is Outcome.PASS
    expired = under(*waivers, at=LATER)
    assert (expired.outcome, expired.n_expired, expired.applied) == (Outcome.FAIL, 2, ())


def test_a_disposition_of_a_finding_that_says_something_else_now_is_not_applied():
    found = under(signed("a", of=finding("a") | {"reason": "otherwise"}), signed("z"), signed("b"))

    assert (found.outcome, found.n_stale) == (Outcome.FAIL, 2)


@given(st.lists(st.sampled_from(["confirmed", "passes", "waived"]), max_size=5))
def test_nobody_makes_a_passing_score_fail_but_by_saying_so(kinds):
    findings = [finding(str(i), "pass") for i in range(len(kinds))]
    given_ = [signed(str(i), kind, of=findings[i]) for i, kind in enumerate(kinds)]

    assert under(*given_, outcome="pass", findings=findings).outcome is Outcome.PASS


def test_the_latest_disposition_of_a_finding_stands():
    first, second = signed("a", "waived"), signed("a", "confirmed", signed_at=AT + dt.timedelta(days=1))

    assert list(standing([second, first]).values()) == [second]
    assert list(standing([first, signed("b")])) == [first.key, signed("b").key]


@pytest.mark.parametrize("fields", [
    {"disposition": "waived", "expires_at": None}, {"expires_at": AT}, {"reason": ""}, {"author": ""},
])  # fmt: skip
def test_a_waiver_without_an_end_and_a_disposition_without_author_or_reason_are_refused(fields):
    with pytest.raises(ValidationError):
        signed("a", fields.pop("disposition", "passes"), **fields)


def test_the_last_day_is_the_one_before_it_expires():
    assert signed("a", expires_at=dt.datetime(2027, 1, 1, tzinfo=dt.UTC)).last_day == "2026-12-31"
    assert signed("a").last_day is None
