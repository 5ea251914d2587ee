"""The graders that leave a question to a judge: what they ask, what they make of replies, what never reaches one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from scenario import PASSAGE, case, cited, output, row, verdict

from spancheck_pipeline.errors import GraderSettingsError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.evidence.verdict import VerdictBook
from spancheck_pipeline.grading.evaluate import grade_row, packets_of
from spancheck_pipeline.grading.grader import Evidence, Grader, spec_of
from spancheck_pipeline.grading.graders import build_grader, build_graders
from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy
from spancheck_pipeline.grading.graders.criteria import Criteria
from spancheck_pipeline.grading.graders.groundedness import Groundedness
from spancheck_pipeline.grading.graders.llm_judge import LlmJudge
from spancheck_pipeline.grading.judge import PROMPTS, Judge, nonce_of, render
from spancheck_pipeline.grading.score import Outcome, Score

JUDGES = {
    "entailment": Judge(name="entailment", client="openai", model="m"),
    "grounded": Judge(name="grounded", client="openai", model="m", prompt="groundedness_v1"),
    "faithful": Judge(name="faithful", client="openai", model="m", prompt="faithful_v1"),
}
PANEL = Judge(name="panel", client="panel", members=tuple(Judge(name=n, client="openai", model=n) for n in "abc"))
SUPPORT = CitationAccuracy(support=JUDGES["entailment"])
GROUNDED = Groundedness(judge=JUDGES["grounded"])
FAITHFUL = Criteria(judge=JUDGES["faithful"])
WHOLE = LlmJudge(judge=JUDGES["entailment"])

RIGHT = {"id": "right", "type": "faithful", "target": {"statement": "The rent is right."}}


def asked(grader: Grader, of: Output, about: Case | None = None) -> list[Packet]:
    about = about or case()
    return [packet for _, packet in packets_of(grader, Evidence(case=about, output=of, row=row(about, of)))]


def graded(
    grader: Grader, of: Output, say: Callable[[Packet], str | None] | None = None, about: Case | None = None
) -> Score:
    """Return the score with what ``say`` replies to every packet of every judge; without it nobody was asked."""
    about = about or case()
    evidence = Evidence(case=about, output=of, row=row(about, of))
    wanted = packets_of(grader, evidence) if say else ()
    leaves = [(leaf, packet) for judge, packet in wanted for leaf in judge.asked]
    book = VerdictBook(verdict(leaf, packet, say(packet)) for leaf, packet in leaves if say)
    return grade_row(grader, about, row(about, of), verdicts=book)


def always(label: str | None) -> Callable[[Packet], str | None]:
    return lambda _: label


# --- citation_accuracy


PARAPHRASE = cited("A month's warning in writing is all it takes.")
"""Its quote is really there, and no word of the claim is in it."""


def test_a_judge_decides_what_the_word_check_cannot_see() -> None:
    assert graded(CitationAccuracy(), PARAPHRASE).outcome is Outcome.FAIL
    score = graded(SUPPORT, PARAPHRASE, always("supported"))
    assert (score.outcome, score.value) == (Outcome.PASS, 1.0)
    assert score.findings[0].reason == (
        "The quote stands in source lease word for word. Judge entailment says supported: because."
    )
    assert score.findings[0].value == 1.0


def test_a_judges_no_fails_the_citation_with_its_reason() -> None:
    score = graded(SUPPORT, cited(), always("contradicted"))
    assert (score.outcome, score.reason_code) == (Outcome.FAIL, "claim_not_supported")
    assert score.findings[0].reason.endswith("Judge entailment says contradicted: because.")


def test_a_judge_is_shown_the_claim_and_the_sentences_around_the_quote() -> None:
    passage = "The lease begins in May. " + PASSAGE + " The rent is 5."
    of = output(
        "Notice is a month.",
        contexts=[{"source_id": "lease", "text": passage}],
        citations=[{"quote": "30 days written notice"}],
    )
    assert asked(SUPPORT, of) == [Packet("entailment", "Notice is a month.", (PASSAGE,))]


@pytest.mark.parametrize(
    "citation",
    [
        {"quote": "words that stand nowhere at all", "source_id": "lease"},
        {"quote": "end the lease with 60 days written notice", "source_id": "lease"},
        {"source_id": "nowhere"},
        {"quote": "the lease"},
    ],
)
def test_a_citation_that_is_not_there_fails_without_asking(citation: dict[str, str]) -> None:
    of = output("Notice is 30 days.", contexts=[{"source_id": "lease", "text": PASSAGE}], citations=[citation])
    assert asked(SUPPORT, of) == []
    assert graded(SUPPORT, of).outcome is Outcome.FAIL


def test_a_claim_that_says_nothing_is_unmeasured_without_asking() -> None:
    of = output("It is.", contexts=[PASSAGE], citations=[{"quote": "30 days written notice", "claim": "It is."}])
    assert asked(SUPPORT, of) == []
    assert graded(SUPPORT, of).reason_code == "not_measured"


def test_a_citation_without_a_verdict_is_unmeasured_and_says_why() -> None:
    score = graded(SUPPORT, PARAPHRASE)
    assert (score.outcome, score.value, score.reason_code) == (Outcome.UNMEASURED, None, "missing_verdict")
    assert score.findings[0].outcome is Outcome.UNMEASURED
    assert "Judge entailment was never asked for 1 verdict" in score.findings[0].reason
    assert graded(SUPPORT, PARAPHRASE, always(None)).reason_code == "judge_failed"


def test_a_missing_verdict_changes_nothing_where_another_citation_fails_anyway() -> None:
    of = output(
        "Notice is 30 days. Parking is free of charge.",
        contexts=[{"source_id": "lease", "text": PASSAGE}],
        citations=[
            {"quote": PASSAGE[:40], "claim": "Notice is 30 days."},
            {"quote": "parking is free of charge here", "claim": "Parking is free of charge."},
        ],
    )
    score = graded(SUPPORT, of)
    assert (score.outcome, score.reason_code) == (Outcome.FAIL, "citation_not_found")


def test_markers_are_judged_too() -> None:
    of = output("Notice is 30 days [1].", contexts=[PASSAGE])
    assert asked(SUPPORT, of) == [Packet("entailment", "Notice is 30 days.", (PASSAGE,))]


def test_another_threshold_scores_again_from_the_same_verdicts() -> None:
    half = CitationAccuracy(support=replace(JUDGES["entailment"], threshold=0.5))
    lenient = graded(half, PARAPHRASE, always("partially_supported"))
    strict = CitationAccuracy(support=replace(JUDGES["entailment"], threshold=0.9))
    assert lenient.outcome is Outcome.PASS
    assert asked(strict, PARAPHRASE) == asked(SUPPORT, PARAPHRASE)
    assert graded(strict, PARAPHRASE, always("partially_supported")).outcome is Outcome.FAIL
    assert spec_of(strict).digest != spec_of(SUPPORT).digest


def test_a_panel_can_judge_and_its_members_stand_in_the_spec() -> None:
    grader = CitationAccuracy(support=PANEL)
    score = graded(grader, PARAPHRASE, always("supported"))
    assert "3 of 3 judges of panel panel support it (a supported, b supported, c supported)" in score.findings[0].reason
    assert [member["model"] for member in spec_of(grader).settings["support"]["members"]] == ["a", "b", "c"]


# --- groundedness

MIXED = output(
    f"{PASSAGE} A month's warning is enough. The moon is made of cheese.",
    contexts=[{"source_id": "lease", "text": PASSAGE}],
)


def test_the_judge_is_asked_about_every_sentence_that_the_word_check_does_not_find_whole() -> None:
    assert asked(GROUNDED, MIXED) == [
        Packet("groundedness", "A month's warning is enough.", (PASSAGE,)),
        Packet("groundedness", "The moon is made of cheese.", (PASSAGE,)),
    ]


def test_the_judges_word_stands_for_the_sentences_that_it_was_asked_about() -> None:
    said = {"A month's warning is enough.": "supported", "The moon is made of cheese.": "not_supported"}
    score = graded(GROUNDED, MIXED, lambda packet: said[packet.claim])
    assert [(f.outcome, f.value, f.grade) for f in score.findings] == [
        (Outcome.PASS, 1.0, "supported"), (Outcome.PASS, 1.0, "supported"), (Outcome.FAIL, 0.0, "unsupported"),
    ]  # fmt: skip
    # Words and numbers of content: party, end, lease, written, notice, 30 days; month, warning, enough; moon, made,
    # cheese. (6 × 1 + 3 × 1 + 3 × 0) / 12
    assert score.value == 9 / 12
    assert score.findings[2].reason == "Judge grounded says not_supported: because."


def test_a_sentence_that_a_judge_calls_contradicted_is_graded_so() -> None:
    score = graded(GROUNDED, MIXED, always("contradicted"))
    assert [finding.grade for finding in score.findings] == ["supported", "contradicted", "contradicted"]
    assert (score.outcome, score.reason_code) == (Outcome.FAIL, "below_threshold")


def test_an_answer_with_an_open_sentence_is_unmeasured_unless_the_outcome_is_known_anyway() -> None:
    assert graded(GROUNDED, MIXED).reason_code == "missing_verdict"
    one_open = graded(GROUNDED, MIXED, lambda packet: None if "moon" in packet.claim else "supported")
    assert (one_open.outcome, one_open.value, one_open.reason_code) == (Outcome.UNMEASURED, None, "judge_failed")
    assert one_open.findings[2].grade == "unmeasured"
    # The long first sentence carries it over a threshold of .3 with or without the open one, and one is unsupported.
    low = replace(GROUNDED, threshold=0.3)
    known = graded(low, MIXED, lambda packet: None if "moon" in packet.claim else "not_supported")
    assert known.outcome is Outcome.PASS


def test_an_open_sentence_keeps_an_answer_from_counting_as_free_of_hallucination() -> None:
    low = replace(GROUNDED, threshold=0.0)
    score = graded(low, MIXED, lambda packet: None if "moon" in packet.claim else "supported")
    assert score.outcome is Outcome.UNMEASURED


def test_without_a_judge_nothing_changes() -> None:
    assert asked(Groundedness(), MIXED) == []
    assert Groundedness().judges == ()
    assert graded(Groundedness(), MIXED).findings[1].reason.startswith("The passages do not have")


def test_an_answer_of_a_million_sentences_asks_no_more_than_two_hundred_questions() -> None:
    many = output(" ".join(f"The moon number {i} is made of cheese." for i in range(300)), contexts=[PASSAGE])
    assert len(asked(GROUNDED, many)) == 200
    score = graded(GROUNDED, many, always("supported"))
    assert (score.outcome, score.reason_code) == (Outcome.UNMEASURED, "too_long_to_judge")


# --- criteria


def test_a_faithful_criterion_is_left_to_the_judge_with_known_and_retrieved_passages() -> None:
    about = case(criteria=[RIGHT], contexts=["Known."])
    of = output("The rent is 5.", contexts=["Retrieved.", "Known."])
    assert asked(FAITHFUL, of, about) == [
        Packet("faithful", "The rent is right.", ("Known.", "Retrieved."), "The rent is 5.")
    ]
    score = graded(FAITHFUL, of, always("holds"), about)
    assert (score.outcome, score.value) == (Outcome.PASS, 1.0)
    assert score.findings[0].reason == "Judge faithful says holds: because."


@pytest.mark.parametrize(
    ("label", "outcome", "code"),
    [("does_not_hold", Outcome.FAIL, "criteria_failed"), (None, Outcome.UNMEASURED, "judge_failed")],
)
def test_a_faithful_criterion_fails_or_is_open_as_the_judge_has_it(
    label: str | None, outcome: Outcome, code: str
) -> None:
    score = graded(FAITHFUL, output(), always(label), case(criteria=[RIGHT]))
    assert (score.outcome, score.reason_code) == (outcome, code)


def test_a_faithful_criterion_that_nobody_was_asked_about_is_open_and_says_so() -> None:
    about = case(criteria=[RIGHT, {"id": "says", "type": "presence", "target": {"text": "30 days"}}])
    score = graded(FAITHFUL, output(), about=about)
    assert (score.outcome, score.reason_code) == (Outcome.UNMEASURED, "missing_verdict")
    assert [(f.item, f.outcome, f.grade) for f in score.findings] == [
        ("right", Outcome.UNMEASURED, "missing_verdict"), ("says", Outcome.PASS, "held"),
    ]  # fmt: skip


def test_an_empty_answer_holds_no_faithful_criterion_and_asks_nobody() -> None:
    about = case(criteria=[RIGHT])
    assert asked(FAITHFUL, output(" "), about) == []
    assert graded(FAITHFUL, output(" "), about=about).outcome is Outcome.FAIL


# --- llm_judge


def test_the_whole_answer_is_judged_against_every_passage() -> None:
    of = output("Notice is a month [1].", contexts=[PASSAGE, "More."])
    assert asked(WHOLE, of) == [Packet("entailment", "Notice is a month.", (PASSAGE, "More."))]
    score = graded(WHOLE, of, always("supported"))
    assert (score.outcome, score.value, score.reason) == (
        Outcome.PASS, 1.0, "Judge entailment says supported: because.",
    )  # fmt: skip
    assert graded(WHOLE, of, always("not_supported")).reason_code == "not_supported"


@pytest.mark.parametrize(
    ("of", "outcome", "code"),
    [
        (output(" ", contexts=[PASSAGE]), Outcome.NOT_APPLICABLE, "no_answer"),
        (output("I don't know.", contexts=[PASSAGE]), Outcome.NOT_APPLICABLE, "abstained"),
        (output(), Outcome.UNMEASURED, "no_contexts"),
        (output(contexts=[PASSAGE]), Outcome.UNMEASURED, "missing_verdict"),
        (output("x" * 200_001, contexts=[PASSAGE]), Outcome.UNMEASURED, "too_long_to_judge"),
    ],
)
def test_where_there_is_nothing_to_judge_it_says_so(of: Output, outcome: Outcome, code: str) -> None:
    score = graded(WHOLE, of)
    assert (score.outcome, score.reason_code) == (outcome, code)


# --- settings and specs


def problem(name: str, settings: dict[str, Any], judges: dict[str, Judge] | None = JUDGES) -> str:
    with pytest.raises(GraderSettingsError) as raised:
        build_grader(name, settings, judges=judges)
    return str(raised.value)


def test_a_suite_names_its_judges() -> None:
    made = build_graders(
        {
            "citation_accuracy": {"support": "judge:entailment"},
            "groundedness": {"judge": "grounded"},
            "criteria": {"judge": "judge:faithful"},
            "llm_judge": {"judge": "entailment"},
            "words": {"use": "citation_accuracy", "support": "lexical"},
        },
        judges=JUDGES,
    )
    judges = [[judge.name for judge in getattr(grader, "judges", ())] for grader in made]
    assert judges == [[], ["entailment"], ["grounded"], ["faithful"], ["entailment"], []]


@pytest.mark.parametrize(
    ("name", "settings", "what"),
    [
        (
            "citation_accuracy", {"support": "judge:entailmnt"},
            "graders.citation_accuracy.support: there is no judge 'entailmnt'; did you mean 'entailment'?",
        ),
        (
            "citation_accuracy", {"support": "judge:zzz"},
            "graders.citation_accuracy.support: there is no judge 'zzz'; there are: entailment, faithful, grounded",
        ),
        (
            "citation_accuracy", {"support": "lexicl"},
            "graders.citation_accuracy.support: must be lexical or judge:NAME; did you mean 'lexical'?",
        ),
        (
            "citation_accuracy", {"support": "entailment"},
            "graders.citation_accuracy.support: must be lexical or judge:NAME; did you mean 'judge:entailment'?",
        ),
        (
            "citation_accuracy", {"support": 5},
            "graders.citation_accuracy.support: must be lexical or judge:NAME, not int",
        ),
        (
            "citation_accuracy", {"support": {"name": "x", "client": "stub"}},
            "graders.citation_accuracy.support: must be lexical or judge:NAME, not dict",
        ),
        (
            "citation_accuracy", {"support": "judge:grounded"},
            "graders.citation_accuracy: support needs a judge of entailment, and grounded judges groundedness",
        ),
        (
            "groundedness", {"judge": "entailment"},
            "graders.groundedness: judge needs a judge of groundedness, and entailment judges entailment",
        ),
        (
            "criteria", {"judge": "grounded"},
            "graders.criteria: judge needs a judge of faithful, and grounded judges groundedness",
        ),
        (
            "llm_judge", {"judge": "faithful"},
            "graders.llm_judge: judge needs a judge of entailment, and faithful judges faithful",
        ),
        ("llm_judge", {}, "graders.llm_judge.judge: this setting is needed and missing"),
        ("llm_judge", {"judge": True}, "graders.llm_judge.judge: must be a judge's name, not bool"),
        (
            "llm_judge", {"judge": "entailment", "provider": "os:getcwd"},
            "graders.llm_judge.provider: there is no such setting; there are: judge",
        ),
    ],
)  # fmt: skip
def test_a_wrong_judge_is_named_with_the_nearest_one(name: str, settings: dict[str, Any], what: str) -> None:
    assert problem(name, settings) == what


def test_without_declared_judges_the_file_is_named() -> None:
    assert problem("groundedness", {"judge": "x"}, {}) == (
        "graders.groundedness.judge: there is no judge 'x'; no judge is declared (datasets/judges.yaml)"
    )


def test_a_judge_and_a_support_function_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="not by both"):
        CitationAccuracy(support=JUDGES["entailment"], support_fn=lambda claim, evidence: True)


@pytest.mark.parametrize("grader", [SUPPORT, GROUNDED, FAITHFUL, WHOLE, CitationAccuracy(support=PANEL)])
def test_the_spec_holds_the_whole_judge_and_makes_the_same_grader_again(grader: Grader) -> None:
    spec = spec_of(grader)
    settings = json.loads(spec.readable())["settings"]
    again = build_grader("again", {**settings, "use": spec.measurement})
    assert spec_of(again).digest == spec.digest
    held = settings["support"] if "support" in settings else settings["judge"]
    assert {"client", "model", "prompt", "prompt_digest", "temperature", "threshold", "runs", "members"} <= held.keys()


# --- what never reaches a judge

MARKER = "zebrafish"


def everything(about: Case) -> Iterator[Packet]:
    of = cited("Either party may end the lease with a month's written warning, and the moon is made of cheese.")
    for grader in (SUPPORT, GROUNDED, FAITHFUL, WHOLE, CitationAccuracy(support=PANEL)):
        packets = asked(grader, of, about)
        assert packets
        yield from packets


def test_nothing_of_what_the_system_was_asked_reaches_a_packet_or_a_question() -> None:
    labelled = {"criteria": [RIGHT], "contexts": ["Known."], "expected": f"{MARKER} e", "meta": {"note": f"{MARKER} m"}}
    asked_this = case(f"{MARKER} id", {"question": f"{MARKER} q"}, category=f"{MARKER} c", **labelled)
    with_history = Case(id="q", input=f"{MARKER} q", history=({"role": "user", "text": f"{MARKER} h"},), **labelled)
    plain = case(question="?", criteria=[RIGHT], contexts=["Known."])
    for about in (asked_this, with_history):
        packets = list(everything(about))
        assert packets == list(everything(plain))
        for packet in packets:
            prompt = next(prompt for prompt in PROMPTS.values() if prompt.kind == packet.kind)
            rendered = render(prompt, packet, nonce=nonce_of(packet))
            assert MARKER not in json.dumps(packet.as_dict()) + rendered.system + rendered.user


def test_a_grader_that_crashes_while_it_says_what_to_ask_asks_nothing() -> None:
    class Broken:
        name, version, judges = "broken", "1", (JUDGES["entailment"],)

        def packets(self, evidence: Evidence) -> Iterator[tuple[Judge, Packet]]:
            raise KeyError(evidence.case.id)

        def grade(self, evidence: Evidence) -> Score:
            raise KeyError(evidence.case.id)

    assert asked(Broken(), output()) == []
    assert graded(Broken(), output()).reason_code == "grader_crashed"
