"""The demo suite: each of its graders has something to catch, its gate passes, and its careless build fails."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.decision.gate import Answer, GateDecision, decide
from spancheck_pipeline.decision.scorecard import (
    GraderFacts,
    RowFacts,
    ScorecardDocument,
    ScoreFacts,
    build_scorecard,
)
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output, cost_usd
from spancheck_pipeline.evidence.verdict import VerdictBook
from spancheck_pipeline.grading.evaluate import grade_row, packets_of
from spancheck_pipeline.grading.grader import Evidence, spec_of
from spancheck_pipeline.grading.judge_provider import answered
from spancheck_pipeline.grading.score import Outcome, Score
from spancheck_pipeline.storage.datasets import LoadedSuite, load_cases, load_suite

DATASETS = Path(__file__).parents[2] / "datasets"


@dataclass(frozen=True)
class Night:
    """One run over the demo suite, in memory."""

    loaded: LoadedSuite
    cases: dict[str, Case]
    rows: dict[str, CapturedRow]
    scores: dict[tuple[str, str], Score]
    """By grader and case id."""

    def failing(self, grader: str) -> set[str]:
        return {case for (name, case), score in self.scores.items() if name == grader and score.outcome is Outcome.FAIL}

    def scorecard(self) -> ScorecardDocument:
        suite = self.loaded.suite
        facts = [GraderFacts(name=g.name, measurement=spec_of(g).measurement) for g in self.loaded.graders]
        rows = [
            RowFacts(
                case_id=row.case_id,
                cluster=self.cases[row.case_id].cluster,
                answered=row.answered,
                latency_ms=row.latency_ms,
                latency_total_ms=row.latency_ms,
                cost_usd=cost_usd(row.output or Output(), suite.prices),
            )
            for row in self.rows.values()
        ]
        scores = [
            ScoreFacts(
                grader=name,
                case_id=case_id,
                cluster=self.cases[case_id].cluster,
                outcome=score.outcome,
                value=score.value,
                n_unsupported=sum(finding.outcome is Outcome.FAIL for finding in score.findings),
            )
            for (name, case_id), score in self.scores.items()
        ]
        return build_scorecard(suite=suite.name, run_id="test", rows=rows, scores=scores, graders=facts)

    def decision(self) -> GateDecision:
        return decide(self.scorecard(), self.loaded.suite.gate)


async def _answers(loaded: LoadedSuite, cases: tuple[Case, ...]) -> dict[str, CapturedRow]:
    target = load_target(loaded.suite.target, suite_folder=loaded.folder)
    rows = {}
    try:
        for case in cases:
            begun = time.perf_counter()
            output = await target.call(case, 0)
            taken = (time.perf_counter() - begun) * 1000
            rows[case.id] = CapturedRow(
                case_id=case.id, question_digest=case.question_digest, output=output, latency_ms=taken
            )
    finally:
        await target.close()
    return rows


def run(loaded: LoadedSuite) -> Night:
    cases = load_cases(loaded.folder, loaded.suite.cases)
    rows = asyncio.run(_answers(loaded, cases))
    verdicts = VerdictBook()
    for grader in loaded.graders:
        for case in cases:
            output = rows[case.id].output or Output()
            wanted = packets_of(grader, Evidence(case=case, output=output, row=rows[case.id]))
            answered(wanted, None, book=verdicts)  # the stub
    scores = {
        (grader.name, case.id): grade_row(grader, case, rows[case.id], verdicts=verdicts)
        for grader in loaded.graders
        for case in cases
    }
    return Night(loaded, {case.id: case for case in cases}, rows, scores)


@pytest.fixture(scope="module")
def night() -> Night:
    return run(load_suite(DATASETS, "leases", load_attribute))


@pytest.fixture(scope="module")
def careless() -> Night:
    return run(load_suite(DATASETS, "leases", load_attribute).with_config("careless"))


def test_the_gate_of_the_demo_suite_passes(night: Night) -> None:
    decision = night.decision()
    assert decision.answer is Answer.PASS, decision.reasons


def test_the_careless_build_fails_clearly(careless: Night) -> None:
    decision = careless.decision()
    assert decision.answer is Answer.FAIL
    failed = {rule.subject for rule in decision.rules if rule.answer is Answer.FAIL}
    assert "citation_accuracy" in failed
    assert careless.scorecard().graders["citation_accuracy"].pass_rate.value < 0.5


def test_every_grader_but_completion_has_something_to_catch(night: Night) -> None:
    without = {grader.name for grader in night.loaded.graders if not night.failing(grader.name)}
    assert without == {"completion"}


def test_nothing_of_the_demo_suite_is_unmeasured(night: Night) -> None:
    unmeasured = {key for key, score in night.scores.items() if score.outcome is Outcome.UNMEASURED}
    assert unmeasured == set()


@pytest.mark.parametrize(
    ("grader", "case", "flaw"),
    [
        ("citation_accuracy", "bakery-service-charge", "cents are lost in the quote"),
        ("citation_accuracy", "office-rent-2026", "the amendment is cited as the lease"),
        ("groundedness", "apartment-animals", "a sentence that no document supports"),
        ("abstention_correct", "office-cleaning", "the nearest passage for an answer"),
        ("abstention_correct", "apartment-hound", "other words for the same thing"),
        ("no_pii", "apartment-urgent", "an address that the mask does not know"),
        ("no_pii", "bakery-contact", "a telephone number"),
        ("expected_contains", "office-rent-disagree", "two documents disagree"),
        ("latency", "lift-compare", "slow"),
        ("cost", "house-every-rule", "the whole portfolio in the prompt"),
        ("opens_as_agreed", "follow-up-key", "the older prompt"),
        ("obeys_no_stranger", "garage-injection", "the injected word is repeated"),
        ("ends_whole", "house-terrace-parties", "cut in the middle"),
    ],
)
def test_a_known_flaw_is_caught(night: Night, grader: str, case: str, flaw: str) -> None:
    assert case in night.failing(grader), flaw


@pytest.mark.parametrize("case", ["bakery-rent", "warehouse-floor-trap", "apartment-smoking", "lift-number-trap"])
def test_a_good_answer_passes_every_grader_that_has_something_to_say(night: Night, case: str) -> None:
    failed = {grader.name for grader in night.loaded.graders if case in night.failing(grader.name)}
    assert failed == set()


def test_the_cases_are_of_every_sort(night: Night) -> None:
    cases = night.cases.values()
    assert len(cases) >= 48
    assert {case.category for case in cases} == {"answerable", "unanswerable", "adversarial"}
    assert sum(case.answerable is False for case in cases) >= 12
    assert sum(bool(case.history) for case in cases) >= 3
    assert len({case.cluster for case in cases}) >= 6
    assert {case.meta.get("trap") for case in cases} >= {
        "false premise",
        "prompt injection",
        "two documents disagree",
        "altered number",
    }


def test_every_expected_source_is_a_passage_that_the_target_can_find(night: Night) -> None:
    passages = load_attribute("target.py:_passages", night.loaded.folder)()
    known = {passage.source_id for passage in passages}
    assert {source for case in night.cases.values() for source in case.expected_sources} <= known


def test_the_demo_target_answers_the_same_again(night: Night) -> None:
    answer = load_attribute("target.py:answer", night.loaded.folder)
    for case in list(night.cases.values())[:20]:
        again = Output.model_validate(answer(case.input, [turn.model_dump() for turn in case.history]))
        assert again == night.rows[case.id].output


def test_the_documents_name_no_reachable_address_or_telephone(night: Night) -> None:
    text = "".join(path.read_text() for path in (night.loaded.folder / "documents").glob("*.md"))
    assert all(part.split()[0].split(".")[-1].rstrip(",") == "example" for part in text.split("@")[1:])
    # 020 7946 0000 to 0999 is set aside for invented numbers.
    assert text.count("+44") == text.count("+44 20 7946 0")


def test_the_cases_file_is_one_object_a_line(night: Night) -> None:
    lines = (night.loaded.folder / "cases.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(night.cases)
