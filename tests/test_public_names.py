import inspect

import pytest

import spancheck_pipeline as sc

NAMES = {
    "Case", "Criterion", "Output", "Context", "Citation", "adapter", "normalize", "evaluate", "run_eval", "Run",
    "CaseResult", "Scorecard", "GradeResult", "default_graders", "citation_accuracy", "verify_citation",
    "CitationVerdict", "check_support", "detect_abstention", "build_audit_log", "cost_latency", "SCHEMA_VERSION",
    "comparable", "diff", "gate", "graders", "grader", "judge_entailment", "judge_support", "llm_judge", "load_prompt",
    "calibrate_judge",
}  # fmt: skip

SIGNATURES = {
    "evaluate": ["cases", "system", "graders", "on_case", "retries", "backoff", "delay"],
    "run_eval": ["cases", "system", "graders", "on_case", "retries", "backoff", "delay"],
    "gate": ["current", "thresholds", "baseline", "max_regression"],
    "diff": ["baseline", "current"],
    "cost_latency": ["run", "pricing"],
    "build_audit_log": ["run", "path", "pricing", "verify_citations"],
    "adapter": ["fn", "capture_time"],
    "normalize": ["value"],
    "default_graders": [],
    "judge_entailment": ["claim", "span", "provider", "prompt_version", "model"],
    "judge_support": ["provider", "prompt_version", "threshold", "model"],
    "llm_judge": ["provider", "prompt_version", "threshold", "model", "name"],
    "load_prompt": ["version"],
    "calibrate_judge": ["gold", "provider", "prompt_version", "threshold", "model"],
    "citation_accuracy": [
        "name", "support_threshold", "pass_threshold", "require_citation", "support_fn", "claim_split",
    ],
    "verify_citation": [
        "citation", "contexts", "answer", "support_threshold", "support_fn", "sources", "claim_split",
    ],
}  # fmt: skip


def test_the_public_names_are_pinned():
    assert set(sc.__all__) == NAMES | {"__version__"}
    for name in sc.__all__:
        assert getattr(sc, name) is not None


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_earlier_librarys_parameters_are_kept_in_their_order(name):
    parameters = list(inspect.signature(getattr(sc, name)).parameters)

    assert parameters[: len(SIGNATURES[name])] == SIGNATURES[name]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("contains", ("x", "n", False)),
        ("regex_match", ("x", "n", 2)),
        ("groundedness", (0.6, "n")),
        ("no_pii", ("n",)),
        ("max_latency", (100, "n")),
        ("expected_contains", ("n",)),
        ("abstention_correct", ("n",)),
    ],
)
def test_the_earlier_grader_factories_take_their_arguments(name, arguments):
    assert getattr(sc.graders, name)(*arguments).name == "n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        sc.nonsense  # noqa: B018 - the look-up is what is tested
