"""The judge: what makes it the same one, and what its recorded verdicts come to."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario import verdict

from spancheck_pipeline.evidence.packet import MOST_CHARS, Packet, entailment_packet
from spancheck_pipeline.evidence.verdict import NO_VERDICTS, VerdictBook
from spancheck_pipeline.grading.judge import Judge, Opinion, open_code, prompt_named

PACKET = entailment_packet("Notice is 30 days.", "Notice is 45 days.")
JUDGE = Judge(name="strict", client="openai", model="m1")
LABELS = ("supported", "partially_supported", "not_supported", "contradicted")


def opinion(*labels: str | None, threshold: float = 0.5) -> Opinion:
    judge = replace(JUDGE, runs=len(labels), threshold=threshold)
    return judge.opinion(PACKET, VerdictBook(verdict(judge, PACKET, said, repeat=i) for i, said in enumerate(labels)))


def panel(*labels: str | None) -> Opinion:
    members = tuple(Judge(name=f"j{i}", client="openai", model=f"m{i}") for i in range(len(labels)))
    book = VerdictBook(verdict(member, PACKET, said) for member, said in zip(members, labels, strict=True))
    return Judge(name="all", client="panel", members=members).opinion(PACKET, book)


def test_one_verdict_is_the_opinion() -> None:
    assert opinion("contradicted") == Opinion(
        judge="strict",
        supported=False,
        value=0.0,
        label="contradicted",
        reason="Judge strict says contradicted: because.",
        code="ok",
    )


@pytest.mark.parametrize(
    ("labels", "threshold", "supported", "value", "label", "is_stable"),
    [
        (["supported"], 0.5, True, 1.0, "supported", None),
        (["partially_supported"], 0.5, True, 0.5, "partially_supported", None),
        (["partially_supported"], 0.6, False, 0.5, "partially_supported", None),
        # (1 + 1 + 0) / 3 = .667: supported by the mean, and one repeat of three says otherwise.
        (["supported", "not_supported", "supported"], 0.5, True, 2 / 3, "supported", False),
        (["supported", "not_supported", "supported"], 0.7, False, 2 / 3, "not_supported", False),
        # (.5 + .5 + 0) / 3 = .333, below .5, although two of three repeats are at it.
        (["partially_supported", "partially_supported", "not_supported"], 0.5, False, 1 / 3, "not_supported", False),
        # Other words, the same decision: stable.
        (["not_supported", "contradicted", "contradicted"], 0.5, False, 0.0, "contradicted", True),
        # Two that failed could not change three that say yes: (1 + 1 + 1 + 0 + 0) / 5 = .6
        (["supported", None, "supported", None, "supported"], 0.5, True, 1.0, "supported", True),
    ],
)
def test_the_mean_of_the_repeats_decides(  # noqa: PLR0917 - one argument a column
    labels: list[str | None], threshold: float, supported: bool, value: float, label: str, is_stable: bool | None
) -> None:
    said = opinion(*labels, threshold=threshold)
    assert (said.supported, said.label, said.is_stable, said.code) == (supported, label, is_stable, "ok")
    assert said.value == pytest.approx(value)


def test_the_reason_says_how_many_repeats_agree() -> None:
    assert opinion("supported", None, "supported").reason == (
        "Judge strict says supported (2 of 3 repeats agree, 1 failed): because."
    )
    assert opinion("supported", "contradicted", "supported").reason == (
        "Judge strict says supported (2 of 3 repeats agree): because."
    )


def test_a_verdict_that_was_never_asked_for_leaves_it_open_whatever_the_others_say() -> None:
    judge = replace(JUDGE, runs=3)
    book = VerdictBook([verdict(judge, PACKET), verdict(judge, PACKET, None, repeat=1)])
    said = judge.opinion(PACKET, book)
    assert (said.supported, said.value, said.label, said.code, said.n_missing) == (
        None,
        None,
        None,
        "missing_verdict",
        1,
    )
    assert said.reason == "Judge strict was never asked for 1 verdict that this needs."


def test_verdicts_that_decide_without_it_do_not_stand_for_one_that_was_never_asked_for() -> None:
    judge = replace(JUDGE, runs=3)
    said = judge.opinion(PACKET, VerdictBook(verdict(judge, PACKET, repeat=repeat) for repeat in (0, 1)))
    assert (said.supported, said.code, said.n_missing) == (None, "missing_verdict", 1)


@pytest.mark.parametrize("labels", [[None], [None, None], ["supported", "not_supported", None]])
def test_a_failed_call_that_could_have_decided_leaves_it_open_and_is_never_a_no(labels: list[str | None]) -> None:
    said = opinion(*labels)
    assert (said.supported, said.value, said.code) == (None, None, "judge_failed:TimeoutError")
    assert said.reason_code == "judge_failed"
    assert said.n_missing == 0


@pytest.mark.parametrize(
    ("labels", "supported", "value", "label"),
    [
        (["supported", "supported", "contradicted"], True, 2 / 3, "supported"),
        (["supported", "contradicted", "contradicted"], False, 1 / 3, "contradicted"),
        (["supported", "supported", "not_supported", "not_supported"], False, 0.5, "not_supported"),
        (["supported", "supported", None], True, 1.0, "supported"),
        (["not_supported", "contradicted", None], False, 0.0, "contradicted"),
    ],
)
def test_a_panel_needs_a_strict_majority_of_all_its_members(
    labels: list[str | None], supported: bool, value: float, label: str
) -> None:
    said = panel(*labels)
    assert (said.supported, said.label, said.code) == (supported, label, "ok")
    assert said.value == pytest.approx(value)
    assert [member.label for member in said.members] == labels


def test_the_panels_reason_names_what_each_member_said() -> None:
    assert panel("supported", "supported", "contradicted").reason == (
        "2 of 3 judges of panel all support it (j0 supported, j1 supported, j2 contradicted). "
        "Judge j0 says supported: because."
    )


@pytest.mark.parametrize("labels", [["supported", "contradicted", None], [None, None], ["supported", None]])
def test_a_panel_whose_majority_hangs_on_a_failed_call_is_open(labels: list[str | None]) -> None:
    said = panel(*labels)
    assert (said.supported, said.code) == (None, "judge_failed:TimeoutError")
    assert len(said.members) == len(labels)


def test_a_panel_of_which_a_member_was_never_asked_is_open() -> None:
    members = (JUDGE, replace(JUDGE, name="other"), replace(JUDGE, name="third"))
    whole = Judge(name="all", client="panel", members=members)
    said = whole.opinion(PACKET, VerdictBook([verdict(members[0], PACKET), verdict(members[1], PACKET)]))
    assert (said.supported, said.code, said.n_missing) == (None, "missing_verdict", 1)


@given(st.lists(st.sampled_from([*LABELS, None]), min_size=1, max_size=5))
def test_the_order_of_repeats_and_of_members_decides_nothing(labels: list[str | None]) -> None:
    for make in (opinion, panel) if len(labels) > 1 else (opinion,):
        said = {(o.supported, o.value, o.label, o.is_stable) for o in (make(*order) for order in permutations(labels))}
        assert len(said) == 1


@given(st.lists(st.sampled_from([*LABELS, None]), min_size=1, max_size=5), st.sampled_from([0.25, 0.5, 0.6, 1.0]))
def test_a_failed_call_never_stands_for_a_decision_that_another_reply_would_turn(
    labels: list[str | None], threshold: float
) -> None:
    said = opinion(*labels, threshold=threshold).supported
    if said is not None:
        for filled in ("supported", "not_supported"):
            assert opinion(*(label or filled for label in labels), threshold=threshold).supported is said


@pytest.mark.parametrize("change", [{"threshold": 0.9}, {"runs": 5}])
def test_another_threshold_or_number_of_repeats_is_the_same_judge_and_asks_nobody_anew(
    change: dict[str, float],
) -> None:
    changed = replace(JUDGE, **change)
    assert changed.identity == JUDGE.identity
    assert set(JUDGE.keys(PACKET)) <= set(changed.keys(PACKET))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "x"}, {"client": "anthropic"}, {"model": "m2"}, {"temperature": 0.0}, {"prompt_digest": "x"},
        {"prompt": "groundedness_v1"}, {"client_digest": "x"},
    ],
)  # fmt: skip
def test_another_name_client_model_prompt_or_temperature_is_another_judge(change: dict[str, str]) -> None:
    assert replace(JUDGE, **change).identity != JUDGE.identity


def test_the_keys_are_every_repeat_of_every_member() -> None:
    members = (JUDGE, replace(JUDGE, name="other", runs=2))
    keys = Judge(name="all", client="panel", members=members).keys(PACKET)
    assert keys == (
        (members[0].identity, PACKET.digest, 0), (members[1].identity, PACKET.digest, 0),
        (members[1].identity, PACKET.digest, 1),
    )  # fmt: skip
    assert Judge(name="all", client="panel", members=members).asked == members
    assert JUDGE.asked == (JUDGE,)


def test_a_judge_without_a_prompt_digest_has_the_shipped_prompts() -> None:
    assert JUDGE.prompt_digest == prompt_named("entailment_v1").digest
    assert JUDGE.kind == "entailment"
    assert Judge(name="f", client="stub", prompt="faithful_v1").kind == "faithful"


def test_what_is_too_long_is_not_asked() -> None:
    long = Packet("entailment", "c" * MOST_CHARS, ("e",))
    assert JUDGE.keys(long) == ()
    assert JUDGE.opinion(long, NO_VERDICTS).code == "too_long_to_judge"


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"threshold": 1.5}, "threshold must be above 0 and at most 1"),
        ({"threshold": 0.0}, "threshold must be above 0 and at most 1"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"members": (JUDGE, replace(JUDGE, prompt="faithful_v1", prompt_digest=""))}, "ask about different things"),
        ({"members": (JUDGE, Judge(name="p", client="panel", members=(JUDGE,)))}, "has a panel among its members"),
    ],
)
def test_a_judge_that_cannot_be_is_refused(fields: dict[str, object], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Judge(name="x", client="panel", **fields)  # type: ignore[arg-type]  # wrong on purpose


def test_of_open_findings_a_missing_verdict_is_told_before_a_failed_one() -> None:
    assert open_code(["judge_failed", "missing_verdict", "x"], "not_measured") == "missing_verdict"
    assert open_code(["x", "judge_failed"], "not_measured") == "judge_failed"
    assert open_code(["x"], "not_measured") == "not_measured"
