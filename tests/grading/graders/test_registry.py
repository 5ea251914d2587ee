"""The registry: what is shipped, and how a suite's settings become graders."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from spancheck_pipeline.errors import GraderSettingsError
from spancheck_pipeline.evidence.run import ModelPrice, Output
from spancheck_pipeline.grading import graders
from spancheck_pipeline.grading.grader import Evidence, Grader, spec_of
from spancheck_pipeline.grading.graders import MEASUREMENTS, build_grader, build_graders
from spancheck_pipeline.grading.graders.cost import Cost
from spancheck_pipeline.grading.score import Score


@dataclass(frozen=True)
class Tone:
    """A user's grader."""

    name: str = "tone"
    version: str = "3"
    limit: int = 5

    def grade(self, evidence: Evidence) -> Score:
        return Score.judged(len(evidence.output.answer) <= self.limit, 1.0, reason="r")


class Plain:
    """A user's grader that is no dataclass and has its own name."""

    name = "plain"
    version = "1"

    def __init__(self, limit: int = 1) -> None:
        self.limit = limit

    def grade(self, evidence: Evidence) -> Score:
        return Score.judged(passed=True, value=1.0, reason=str(evidence.output.answer))


def polite(case: Any, output: Output) -> bool:
    return "please" in output.answer


def make(limit: int, name: str) -> Tone:
    return Tone(name=name, limit=limit)


NEAREST = (
    "graders.groundednes: there is no measurement 'groundednes'; did you mean 'groundedness', or your own code "
    "(use: module:attribute)?"
)
USER = {"my:Tone": Tone, "my:tone": Tone(), "my:polite": polite, "my:make": make, "my:Plain": Plain, "my:nothing": 3}


def build(name: str, settings: Mapping[str, Any]) -> Grader:
    return build_grader(name, settings, load=USER.__getitem__)


def problems(name: str, settings: Mapping[str, Any]) -> list[str]:
    with pytest.raises(GraderSettingsError) as raised:
        build(name, settings)
    return [problem.text() for problem in raised.value.problems]


def test_every_shipped_measurement_has_a_name_and_a_version() -> None:
    assert list(MEASUREMENTS) == [
        "completion", "citation_accuracy", "abstention_correct", "groundedness", "no_pii", "retrieval", "criteria",
        "latency", "cost", "contains", "not_contains", "regex_match", "expected_contains", "llm_judge",
        "max_latency",
    ]  # fmt: skip
    for name, made in MEASUREMENTS.items():
        assert isinstance(made.version, str)
        assert made.measurement == ("latency" if name == "max_latency" else name)


def test_the_earlier_librarys_signatures_are_kept() -> None:
    def parameters(function: Any) -> str:
        signature = inspect.signature(function)
        return ", ".join(
            name if value.default is inspect.Parameter.empty else f"{name}={value.default!r}"
            for name, value in signature.parameters.items()
        )

    assert parameters(graders.contains) == "substr, name=None, negate=False"
    assert parameters(graders.regex_match) == "pattern, name='regex_match', flags=re.IGNORECASE"
    assert parameters(graders.groundedness) == "threshold=0.6, name='groundedness'"
    assert parameters(graders.no_pii) == "name='no_pii'"
    assert parameters(graders.max_latency) == "ms, name='latency'"
    assert parameters(graders.expected_contains) == "name='expected_contains'"
    assert parameters(graders.abstention_correct) == "name='abstention_correct'"
    assert parameters(graders.citation_accuracy) == (
        "name='citation_accuracy', support_threshold=0.6, pass_threshold=1.0, require_citation=True, support_fn=None, "
        "claim_split=False"
    )


def test_the_earlier_functions_make_graders_of_those_names() -> None:
    made = [
        graders.contains("a"), graders.contains("a", negate=True), graders.contains("a", "b"), graders.regex_match("a"),
        graders.groundedness(), graders.no_pii(), graders.max_latency(5), graders.expected_contains(),
        graders.abstention_correct(), graders.citation_accuracy(),
    ]  # fmt: skip
    assert [grader.name for grader in made] == [
        "contains", "not_contains", "b", "regex_match", "groundedness", "no_pii", "latency", "expected_contains",
        "abstention_correct", "citation_accuracy",
    ]  # fmt: skip
    assert graders.regex_match("a", flags=re.IGNORECASE | re.DOTALL).flags == 18


def test_the_default_graders_are_completion_and_the_earlier_four() -> None:
    names = [grader.name for grader in graders.default_graders()]
    assert names == ["completion", "abstention_correct", "groundedness", "no_pii", "citation_accuracy"]


def test_completion_is_always_there_and_first() -> None:
    assert [grader.name for grader in build_graders({"no_pii": {}})] == ["completion", "no_pii"]
    assert [grader.name for grader in build_graders({"no_pii": None, "completion": {}})] == ["no_pii", "completion"]


def test_one_measurement_can_stand_twice_under_two_names() -> None:
    made = build_graders({"has_a": {"use": "contains", "substr": "a"}, "has_b": {"use": "contains", "substr": "b"}})
    assert [grader.name for grader in made] == ["completion", "has_a", "has_b"]
    assert spec_of(made[1]).measurement == "contains"


def test_the_instances_name_is_not_part_of_the_spec() -> None:
    one = build("x", {"use": "contains", "substr": "a"})
    other = build("y", {"use": "contains", "substr": "a"})
    assert spec_of(one).digest == spec_of(other).digest


def test_every_problem_of_every_grader_is_named_at_once() -> None:
    with pytest.raises(GraderSettingsError) as raised:
        build_graders(
            {"groundednes": {}, "latency": {"max": 1}, "c": {"use": "contains", "substr": "a", "case_sensitive": "yes"}}
        )
    assert str(raised.value).splitlines() == [
        NEAREST,
        "graders.latency.max: there is no such setting; did you mean 'max_ms'?",
        "graders.latency.max_ms: this setting is needed and missing",
        "graders.c.case_sensitive: Input should be a valid boolean",
    ]


@pytest.mark.parametrize(
    ("name", "settings", "what"),
    [
        ("latency", {"max_ms": "8000"}, "graders.latency.max_ms: Input should be a valid number"),
        ("latency", {"max_ms": True}, "graders.latency.max_ms: Input should be a valid number"),
        ("latency", {"max_ms": -5}, "graders.latency: max_ms must be a number of milliseconds, at least 0, not -5.0"),
        ("contains", {"substr": 5}, "graders.contains.substr: Input should be a valid string"),
        ("groundedness", {"threshold": 2}, "graders.groundedness: threshold must be in [0, 1], not 2.0"),
        ("x", {"use": 5}, "graders.x.use: must be a text, not int"),
        (
            "x",
            {"use": "my:tone", "limit": 4},
            "graders.x.limit: a grader that is already made takes no settings; make it a class or a factory",
        ),
        ("x", {"use": "my:nothing"}, "graders.x.use: a grader needs name, version and grade(evidence); int has not"),
        ("x", {"use": "my:Tone", "limits": 4}, "graders.x.limits: there is no such setting; did you mean 'limit'?"),
    ],
)
def test_a_wrong_setting_is_named(name: str, settings: Mapping[str, Any], what: str) -> None:
    assert problems(name, settings) == [what]


def test_a_wrong_value_is_not_repeated() -> None:
    assert "s3cret" not in " ".join(problems("latency", {"max_ms": "s3cret"}))


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({"use": "my:Tone", "limit": 4}, 4),
        ({"use": "my:Tone"}, 5),
        ({"use": "my:tone"}, 5),
        ({"use": "my:make", "limit": 9}, 9),
    ],
)
def test_a_users_class_instance_or_factory_is_built_under_the_suites_name(
    settings: Mapping[str, Any], limit: int
) -> None:
    made = build("mine", settings)
    assert isinstance(made, Tone)
    assert (made.name, made.limit) == ("mine", limit)


def test_a_users_plain_class_takes_the_suites_name_and_keeps_its_spec() -> None:
    made = build("mine", {"use": "my:Plain", "limit": 4})
    assert (made.name, made.version) == ("mine", "1")
    assert spec_of(made).settings["limit"] == 4


def test_a_users_function_becomes_a_grader() -> None:
    made = build("manners", {"use": "my:polite"})
    assert made.name == "manners"
    assert spec_of(made).measurement.endswith(":polite")


def test_user_code_is_not_loaded_by_the_core_itself() -> None:
    with pytest.raises(GraderSettingsError, match="cannot be loaded here"):
        build_grader("x", {"use": "os:getcwd"})


def test_the_suites_prices_reach_a_cost_grader_without_its_own() -> None:
    prices = {"m": ModelPrice(input_usd_per_mtok=1, output_usd_per_mtok=2)}
    made = build_graders({"cost": {"max_usd": 1}, "dear": {"use": "cost", "max_usd": 9, "prices": {}}}, prices=prices)
    assert isinstance(made[1], Cost)
    assert isinstance(made[2], Cost)
    assert made[1].prices == prices
    assert made[2].prices == {}
