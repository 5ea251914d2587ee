"""Whether two runs can be compared, and everything in which they differ."""

from __future__ import annotations

from typing import Any

from scenario import AT

from spancheck_pipeline.decision.comparability import RunTerms, comparable
from spancheck_pipeline.decision.comparison import ComparedCase
from spancheck_pipeline.evidence.run import Manifest, ModelPrice, TargetFacts

TARGET = TargetFacts(kind="callable", reference="app:answer", version="1", settings_digest="0" * 64)


def run(cases: str = "abcde", *, labels: str = "x", graders: dict[str, str] | None = None, **fields: Any) -> RunTerms:
    """One case a letter; an upper-case one asks something else under the same id."""
    manifest: dict[str, Any] = {
        "run_id": "s-1", "suite": "s", "dataset_digest": "d" * 64, "n_cases": len(cases), "epochs": 1, "target": TARGET,
        "started_at": AT, "finished_at": AT, "package_version": "0.1.0", "python_version": "3.11", "n_rows": 5,
        "n_answered": 5, "attempts": 5, "retries": 0,
    }  # fmt: skip
    return RunTerms(
        manifest=Manifest.model_validate({**manifest, **fields}),
        cases={c.lower(): ComparedCase(question_digest=c, label_digest=labels) for c in cases},
        graders=graders or {"criteria": "1" * 64},
    )


def effects(candidate: RunTerms, baseline: RunTerms) -> dict[str, str]:
    return {item.what: item.effect for item in comparable(candidate, baseline).differences}


def test_two_runs_of_the_same_questions_are_comparable_over_all_of_them():
    found = comparable(run(), run())

    assert (found.ok, found.shared, found.differences) == (True, ("a", "b", "c", "d", "e"), ())
    assert (found.added, found.removed, found.reworded, found.relabelled) == ((), (), (), ())


def test_a_case_is_the_same_when_its_question_is_and_every_other_one_is_listed():
    found = comparable(run("abcdefghijX"), run("abcdefghijxz"))

    assert found.ok
    assert found.shared == tuple("abcdefghij")
    assert (found.added, found.removed, found.reworded) == ((), ("z",), ("x",))


def test_other_labels_and_other_graders_are_graded_again_and_not_refused():
    found = comparable(run(labels="y", graders={"criteria": "2" * 64, "new": "3" * 64}), run())

    assert found.ok
    assert found.relabelled == tuple("abcde")
    assert [str(item) for item in found.differences] == [
        f"grader {what} in the candidate; the baseline is graded again, offline"
        for what in (
            "criteria: 111111111111 in the baseline, 222222222222",
            "new: not stated in the baseline, 333333333333",
        )
    ]


def test_other_epochs_are_refused_with_both_numbers():
    found = comparable(run(epochs=5), run())

    assert not found.ok
    assert str(found.differences[0]) == "epochs: 1 in the baseline, 5 in the candidate; they cannot be compared"


def test_too_few_shared_questions_are_refused_with_their_number():
    found = comparable(run("abcde"), run("abXYZ"))

    assert not found.ok
    assert (found.differences[0].what, found.differences[0].baseline, found.differences[0].effect) == (
        "shared questions", "2 of 5", "refused",
    )  # fmt: skip


def test_other_prices_keep_costs_from_being_compared_and_nothing_else():
    priced = run(prices={"m1": ModelPrice(input_usd_per_mtok=1, output_usd_per_mtok=2)})

    assert comparable(priced, run()).ok
    assert effects(priced, run()) == {"prices": "costs_not_compared"}


def test_every_version_that_may_differ_is_named():
    other = run(
        target=TARGET.model_copy(update={"version": "2", "settings_digest": "1" * 64}), config="low",
        python_version="3.12", package_version="0.2.0", git_commit="abc", served_models={"m2": 5},
        versions={"prompt": ("8",)}, dataset_digest="e" * 64,
    )  # fmt: skip

    assert comparable(other, run()).ok
    assert effects(other, run()) == dict.fromkeys(
        ["target version", "target settings", "config", "served models", "parts", "dataset", "package version",
         "Python version", "git commit"], "none",
    )  # fmt: skip


def test_what_refuses_stands_first():
    found = comparable(run(epochs=5, python_version="3.12"), run())

    assert [item.effect for item in found.differences] == ["refused", "none"]
