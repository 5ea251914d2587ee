"""The budget of a run: not begun above it, stopped beyond it, and gone on with when it is raised."""

from __future__ import annotations

import pytest
from scenario import TARGET, Project

from spancheck_pipeline.api.capturing import capture_place
from spancheck_pipeline.api.snapshot import is_begun, snapshot_cases
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.errors import BudgetError
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN

# Every answer reads 100 tokens and writes 10, at 1 and 2 USD per million: 0.00012 USD.
ANSWERS = """
    import pathlib

    VERSION = "1"
    LOG = pathlib.Path(__file__).with_name("calls.log")


    def answer(question):
        with LOG.open("a") as log:
            log.write(question + "\\n")
        return {"answer": "Yes.", "model": "m1", "usage": {"input_tokens": 100, "output_tokens": 10}}
"""


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path, target=ANSWERS)


def capture(project: Project, date: str, budget: float | None = None, **options):
    project.write_suite(more=f"budget: {{max_run_cost_usd: {budget}}}\n" if budget else "", target=", concurrency: 1")
    loaded = load_suite(project.folder / "datasets", project.name, load_attribute)
    store, place = Store(project.storage), Night(project.name, date)
    snapshot_cases(store, place, load_cases(loaded.folder, loaded.suite.cases))
    return capture_place(
        store, place, loaded.suite, lambda: load_target(loaded.suite.target, suite_folder=loaded.folder), **options
    )


def test_a_run_within_its_budget_is_captured_and_its_cost_stands_in_the_manifest(project):
    capture(project, "2026-03-13")
    captured = capture(project, "2026-03-14", budget=0.00144)

    assert captured.manifest.cost_usd == pytest.approx(12 * 0.00012)
    assert captured.manifest.n_unpriced == 0


def test_a_run_that_is_expected_to_cost_more_is_not_begun(project):
    past = capture(project, "2026-03-13").manifest.run_id

    with pytest.raises(BudgetError) as raised:
        capture(project, "2026-03-14", budget=0.0014)

    assert str(raised.value) == (
        "small on 2026-03-14: 12 answers are left to ask for; the run is expected to cost 0.00144 USD (by the captured "
        f"run {past}), and budget.max_run_cost_usd is 0.0014. Nothing was called: raise the budget, or ask for fewer "
        "cases or epochs (`spancheck plan` shows the figures)"
    )
    assert len(project.calls()) == 12
    assert not is_begun(Store(project.storage), Night("small", "2026-03-14"))


def test_without_a_captured_run_assumptions_decide_before_the_first_call(project):
    with pytest.raises(BudgetError, match="by assumptions, since no run is captured yet"):
        capture(project, "2026-03-14", budget=0.001)

    assert project.calls() == []


DEARER = ANSWERS.replace('"input_tokens": 100', '"input_tokens": 1_000_100')


def test_a_run_that_goes_beyond_its_budget_is_stopped_and_a_higher_one_goes_on_with_it(project):
    capture(project, "2026-03-13")
    project.write_target(DEARER)  # now an answer costs 1.00012 USD
    with pytest.raises(BudgetError) as raised:
        capture(project, "2026-03-14", budget=2.5)

    assert str(raised.value).startswith(
        "3 answers have cost 3.00036 USD, and budget.max_run_cost_usd is 2.5: the run is "
    )
    assert len(project.calls()) == 12 + 3

    with pytest.raises(BudgetError, match=r"3 answers have cost 3\.00036 USD"):
        capture(project, "2026-03-14", budget=2.9)
    with pytest.raises(BudgetError, match=r"3\.00036 USD are spent, and 9 answers .*\(by what this run has spent"):
        capture(project, "2026-03-14", budget=12)
    assert len(project.calls()) == 12 + 3

    captured = capture(project, "2026-03-14", budget=12.1)
    assert len(project.calls()) == 12 + 12
    assert captured.manifest.cost_usd == pytest.approx(12 * 1.00012)


def test_a_budget_over_an_answer_of_unknown_price_stops_after_the_first_and_names_the_model(project):
    project.write_target(ANSWERS.replace('"m1"', '"m2"'))

    with pytest.raises(BudgetError, match="what an answer cost is not known: there is no price for m2"):
        capture(project, "2026-03-14", budget=100)

    assert len(project.calls()) == 1


def test_a_captured_date_is_re_used_whatever_the_budget(project):
    capture(project, "2026-03-14")

    assert capture(project, "2026-03-14", budget=0.0000001).is_reused


FAILS = """
    import pathlib

    VERSION = "1"
    HERE = pathlib.Path(__file__).parent


    def answer(question):
        with (HERE / "calls.log").open("a") as log:
            log.write(question + "\\n")
        if "number 4" in question and not (HERE / "mended").exists():
            raise RuntimeError
        return {"answer": "Yes.", "model": "m1", "usage": {"input_tokens": 100, "output_tokens": 10}}
"""


def test_what_the_kept_answers_cost_counts_when_failed_rows_are_asked_again(project):
    project.write_target(FAILS)
    capture(project, "2026-03-14")
    (project.suite_folder / "mended").touch()

    # Eleven answers have cost 0.00132 USD; the twelfth would make it 0.00144.
    with pytest.raises(BudgetError, match=r"0\.00132 USD are spent, and 1 answers are left"):
        capture(project, "2026-03-14", budget=0.0014, mode="retry_errors")
    assert capture(project, "2026-03-14", budget=0.00144, mode="retry_errors").manifest.n_answered == 12


def test_a_capture_without_a_budget_is_not_stopped(project):
    project.write_target(TARGET)
    capture(project, "2026-03-14")

    assert Store(project.storage).exists(Night("small", "2026-03-14"), CAPTURED_RUN)
