"""A calibration's figures, worked by hand; what is unmeasured is counted and in no rate."""

from __future__ import annotations

import random

import jsonschema
import pytest
from gold import SUBJECT, answer, gold, item

from spancheck_pipeline import stats
from spancheck_pipeline.decision.calibration import GoldAnswer, calibrate
from spancheck_pipeline.evidence.canonical import CONTRACT


def test_a_judge_has_the_figures_that_its_answers_give():
    # 10 items: people pass a b c d e f, fail g h i j. The judge passes a b c d e g, fails f h i j.
    items = gold([item(i, i in "abcdef") for i in "abcdefghij"])
    answers = {i: answer(i in "abcdeg", 0.9 if i in "abcdeg" else 0.2) for i in "abcdefghij"}

    found = calibrate(items, answers, SUBJECT).figures

    assert (found.n_items, found.n_measured, found.prevalence) == (10, 10, 0.6)
    table = found.table
    assert (table.n_true_pass, table.n_false_pass, table.n_false_fail, table.n_true_fail) == (5, 1, 1, 3)
    assert found.agreement.value == 0.8
    assert (found.sensitivity.value, found.specificity.value) == (pytest.approx(5 / 6), 0.75)
    assert (found.sensitivity.low, found.sensitivity.high) == pytest.approx(stats.wilson(5, 6))
    assert found.balanced_accuracy.value == pytest.approx((5 / 6 + 0.75) / 2)
    # p_e = .6·.6 + .4·.4 = .52; κ = (.8 − .52)/.48 = .58333; MCC = (15 − 1)/√(6·6·4·4) = 14/24 = .58333
    assert found.kappa.value == pytest.approx(0.583333, abs=1e-6)
    assert found.mcc == pytest.approx(0.583333, abs=1e-6)


def test_graded_scores_have_a_brier_score_bins_and_a_held_out_threshold():
    items = gold([item(f"{label}{i}", label) for label in (True, False) for i in range(20)])
    answers = {i.id: answer(i.label, 0.9 if i.label else 0.3) for i in items.items}

    found = calibrate(items, answers, SUBJECT).graded

    # 20 · .1² + 20 · .3² = .2 + 1.8 = 2.0; over 40 items .05
    assert found.brier == pytest.approx(0.05)
    # Bins .9 (20 items, all passed) and .3 (20 items, none): (20·.1 + 20·.3)/40 = .2
    assert [(part.low, part.n, part.positive.value) for part in found.bins] == [(0.3, 20, 0.0), (0.9, 20, 1.0)]
    assert found.calibration_error == pytest.approx(0.2)
    assert found.held_out.threshold == 0.6  # as good as any, and what it has
    assert found.held_out.best.balanced_accuracy.value == 1.0
    assert found.held_out.n_chosen_on + found.held_out.best.n_items == 40


def test_a_threshold_is_chosen_on_other_items_than_it_is_measured_on():
    # Scores say nothing: whatever looks best on one half is worth nothing on the other.
    draw = random.Random(5)
    items = gold([item(f"i{n}", n % 2 == 0) for n in range(400)])
    answers = {i.id: answer(None, draw.random()) for i in items.items}

    held_out = calibrate(items, answers, SUBJECT).graded.held_out

    assert held_out.best.balanced_accuracy.low < 0.5 < held_out.best.balanced_accuracy.high


def test_groups_are_never_torn_between_the_halves():
    items = gold([item(f"{g}-{n}", n == 0, group=f"g{g}") for g in range(31) for n in range(3)])
    answers = {i.id: answer(i.label, 0.8 if i.label else 0.1) for i in items.items}

    held_out = calibrate(items, answers, SUBJECT).graded.held_out

    assert held_out.n_chosen_on % 3 == held_out.best.n_items % 3 == 0
    assert held_out.n_chosen_on + held_out.best.n_items == 93


def test_what_has_no_answer_is_counted_by_reason_and_is_in_no_rate():
    items = gold([item("a", True), item("b", True), item("c", False), item("d", False)])
    answers = {
        "a": answer(True, 1.0),
        "b": GoldAnswer(supported=None, code="judge_failed:TimeoutError"),
        "c": answer(False, 0.0),
    }

    found = calibrate(items, answers, SUBJECT)

    assert found.failures == {"judge_failed:TimeoutError": 1, "missing_verdict": 1}
    assert (found.figures.n_items, found.figures.n_measured) == (4, 2)
    assert (found.figures.sensitivity.value, found.figures.specificity.value) == (1.0, 1.0)
    assert (found.figures.sensitivity.n_unmeasured, found.figures.specificity.n_unmeasured) == (1, 1)
    # Taken as errors, one of two is right on either side.
    assert found.figures.sensitivity.low_at_worst == pytest.approx(stats.wilson(1, 2).low)
    assert found.figures.sensitivity.low == pytest.approx(stats.wilson(1, 1).low)


def test_where_nothing_is_answered_nothing_is_made_up():
    found = calibrate(gold([item("a", True)]), {}, SUBJECT)

    assert found.failures == {"missing_verdict": 1}
    assert found.figures.agreement.value is found.figures.sensitivity.value is found.figures.kappa is None
    assert found.graded is None


def test_items_of_one_group_are_worth_less():
    alone = gold([item(f"i{n}", True) for n in range(40)])
    grouped = gold([item(f"i{n}", True, group=f"g{n // 10}") for n in range(40)])
    answers = {f"i{n}": answer(n >= 10, 0.9 if n >= 10 else 0.1) for n in range(40)}

    free, bound = (calibrate(items, answers, SUBJECT).figures.sensitivity for items in (alone, grouped))

    assert free.value == bound.value == 0.75
    assert (free.n_effective, bound.n_clusters, bound.few_clusters) == (40, 4, True)
    assert bound.n_effective < 8  # four groups that stand and fall together
    assert bound.low < free.low


def test_each_stratum_has_its_own_figures():
    items = gold(
        [item("a", True, stratum="x"), item("b", False, stratum="x"), item("c", False, stratum="y"), item("d", True)]
    )
    answers = {"a": answer(True, 1.0), "b": answer(True, 1.0), "c": answer(False, 0.0), "d": answer(True, 1.0)}

    found = calibrate(items, answers, SUBJECT).by_stratum

    assert {name: figures.agreement.value for name, figures in found.items()} == {"x": 0.5, "y": 1.0}
    assert found["y"].sensitivity.value is None


def test_repeats_that_disagree_are_counted():
    items = gold([item(i, True) for i in "abc"])
    answers = {
        "a": answer(True, 0.9, (True, True, True)),
        "b": answer(True, 0.6, (True, False, True)),
        "c": answer(True, 0.9),
    }

    found = calibrate(items, answers, SUBJECT).consistency

    assert (found.n_items, found.stable.value) == (2, 0.5)


def test_several_labellers_show_the_ceiling():
    # As in the test of ``concord``: 2/3 of agreement, and (0, 0, 1, 2) against the others.
    items = gold([item("a", True, labellers=[True, True, False]), item("b", False, labellers=[False, False])])

    found = calibrate(items, {}, SUBJECT).people

    assert (found.n_items, found.agreement) == (2, pytest.approx(2 / 3))
    assert (found.table.n_false_fail, found.table.n_true_fail, found.balanced_accuracy) == (1, 2, 0.5)


def test_the_order_of_items_plays_no_part():
    items = [item(f"i{n}", n % 3 == 0, stratum="xy"[n % 2]) for n in range(60)]
    answers = {i.id: answer(n % 4 != 0, n / 60) for n, i in enumerate(items)}

    one = calibrate(gold(items), answers, SUBJECT)
    other = calibrate(gold(items[::-1]), dict(reversed(answers.items())), SUBJECT)

    assert one.model_dump(exclude={"gold"}) == other.model_dump(exclude={"gold"})


def test_the_labelling_policy_and_every_label_are_in_the_digest():
    base = gold([item("a", True)])
    others = [
        gold([item("a", True)], policy="strict"),
        gold([item("a", False)]),
        gold([item("a", True)], domain="leases"),
    ]

    assert len({base.digest, *(other.digest for other in others)}) == 4
    assert base.digest == gold([item("a", True)], name="another_file").digest
    policies = [calibrate(items, {}, SUBJECT).gold.policy_digest for items in (base, others[0])]
    assert policies[0] is None
    assert policies[1] is not None


def test_a_real_calibration_is_as_its_published_schema_says(published_schema):
    items = gold([item(f"i{n}", n % 2 == 0, stratum="s", labellers=[True, False]) for n in range(8)])
    answers = {i.id: answer(i.label, 0.9 if i.label else 0.2, (True, True)) for i in items.items}
    document = calibrate(items, answers, SUBJECT, served_models={"j": ["m1"]})

    schema = published_schema("calibration")

    jsonschema.validate(document.model_dump(mode="json"), schema)
    assert document.contract == CONTRACT
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document.model_dump(mode="json"), "contract": 2}, schema)
    assert without_words(schema) == without_words(type(document).model_json_schema(mode="serialization"))


def without_words(schema):
    if isinstance(schema, dict):
        return {key: without_words(part) for key, part in schema.items() if key not in {"description", "title"}}
    return [without_words(part) for part in schema] if isinstance(schema, list) else schema
