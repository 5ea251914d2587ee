"""Calibrating: asked once, failures counted, kept with its history; what scorecards and decisions make of it."""

from __future__ import annotations

import json
import shutil
import textwrap

import pandas as pd
import pytest
from gold import gold, item
from scenario import Project

import spancheck_pipeline as sc
from spancheck_pipeline.api.audit_logs import open_audit_log, read_head
from spancheck_pipeline.api.auditing_place import verify_place
from spancheck_pipeline.api.calibrating import calibrate_subject
from spancheck_pipeline.api.stored import run_place
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.decision.standing import Trust
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.storage.calibrations import calibration_history, calibrations_of
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.judges_file import load_judges
from spancheck_pipeline.storage.store import AdHoc, Store

JUDGES = """
    contract: 1
    judges:
      scripted: {callable: "judge.py:judge", model: m1, threshold: 0.5, retries: 0, backoff_s: 0}
      again: {callable: "judge.py:judge", model: m1, runs: 3, retries: 0, backoff_s: 0}
      offline: {stub: {}}
"""
JUDGE = """
    import json, pathlib

    LOG = pathlib.Path(__file__).with_name("judged.log")


    def judge(system, user):
        with LOG.open("a") as log:
            log.write("x\\n")
        if "unreadable" in user:
            return "I would rather not say."
        is_wrong = "slip" in user
        label = "supported" if ("true" in user) != is_wrong else "not_supported"
        return json.dumps({"label": label, "reason": "so it is"})
"""


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path, n=9)
    (tmp_path / "datasets" / "judges.yaml").write_text(textwrap.dedent(JUDGES))
    (tmp_path / "datasets" / "judge.py").write_text(textwrap.dedent(JUDGE))
    return project


def store_of(project):
    return Store(project.storage)


def put(project, name, items, **fields):
    declared = load_judges(project.folder / "datasets")
    return calibrate_subject(store_of(project), declared, name, gold(items, **fields), by="t")


def n_asked(project):
    log = project.folder / "datasets" / "judged.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def claims(n, *, n_slips=0, n_unreadable=0):
    """Return n items of each label of which the judge gets some wrong and cannot answer others."""
    items = [item(f"{label}-{i}", label) for label in (True, False) for i in range(n)]
    word = {True: "true", False: "false"}
    marks = ["slip"] * n_slips + ["unreadable"] * n_unreadable + [""] * n
    return [
        i.model_copy(update={"claim": f"{word[i.label]} {marks[int(i.id.partition('-')[2])]} claim {i.id}"})
        for i in items
    ]


def test_a_judge_is_measured_and_kept_and_nobody_is_asked_twice(project):
    made = put(project, "scripted", claims(20, n_slips=2))

    figures = made.document.figures
    assert (figures.sensitivity.value, figures.specificity.value, figures.n_measured) == (0.9, 0.9, 40)
    assert (made.judged.n_calls, n_asked(project)) == (40, 40)
    assert made.document.served_models == {"scripted": ("(not reported)",)}

    again = put(project, "scripted", claims(20, n_slips=2))
    assert (again.judged.n_calls, again.judged.n_kept, n_asked(project)) == (0, 40, 40)
    assert (again.published.revision, again.published.is_new) == (1, False)


def test_a_changed_threshold_measures_anew_and_asks_nobody(project):
    put(project, "scripted", claims(5))
    judges = project.folder / "datasets" / "judges.yaml"
    judges.write_text(judges.read_text().replace("threshold: 0.5", "threshold: 1.0"))

    made = put(project, "scripted", claims(5))

    assert (made.judged.n_calls, made.published.revision) == (0, 2)
    history = calibration_history(store_of(project), "scripted", "small")
    assert [file.document()["subject"]["threshold"] for file in history] == [0.5, 1.0]


def test_a_verdict_that_fails_is_counted_by_its_reason_and_asked_for_again(project):
    made = put(project, "scripted", claims(4, n_unreadable=1))

    assert made.document.failures == {"judge_failed:UnreadableVerdictError.no_json": 2}
    assert (made.document.figures.n_measured, made.document.figures.agreement.value) == (6, 1.0)
    rows = pd.read_parquet(made.published.path)
    assert rows.loc[rows.code != "ok", "score"].isna().all()
    again = put(project, "scripted", claims(4, n_unreadable=1)).judged
    assert (again.n_kept, again.n_failed) == (6, 2)
    assert again.n_calls >= 2


def test_repeats_tell_whether_it_says_the_same_again(project):
    made = put(project, "again", claims(3))

    assert (made.judged.n_calls, made.document.consistency.n_items, made.document.consistency.stable.value) == (
        18,
        6,
        1.0,
    )


def test_calibrations_read_as_a_hive_table_with_judge_and_domain(project):
    put(project, "scripted", claims(3))
    put(project, "scripted", claims(2), domain="other")
    put(project, "citation_accuracy", claims(2))

    frame = pd.read_parquet(project.storage / "calibration")

    assert sorted(set(zip(frame.judge.astype(str), frame.domain.astype(str), strict=True))) == [
        ("citation_accuracy", "small"), ("scripted", "other"), ("scripted", "small"),
    ]  # fmt: skip
    assert [c.calibrated.document.gold.domain for c in calibrations_of(store_of(project), "scripted")] == [
        "other",
        "small",
    ]


def test_a_deterministic_grader_is_measured_in_the_same_way(project):
    passage = ("The notice period is 30 days.",)
    said = {"a": "The notice period is 30 days.", "b": "The notice period is 45 days.", "c": "!"}
    items = [item(i, i == "a").model_copy(update={"claim": said[i], "evidence": passage}) for i in said]
    for name, code in (("citation_accuracy", "nothing_to_check"), ("groundedness", "nothing_asserted")):
        made = put(project, name, items)
        assert (made.document.figures.agreement.value, made.document.failures) == (1.0, {code: 1})
        assert (made.document.subject.kind, made.document.subject.threshold, made.judged) == ("grader", 0.6, None)


def test_a_judge_of_no_name_is_refused_with_the_nearest(project):
    with pytest.raises(UsageError, match=r"there is no judge 'scriptet' to calibrate; did you mean 'scripted'\?"):
        put(project, "scriptet", claims(1))


def test_no_text_of_an_item_or_a_reply_is_in_a_calibration(project):
    items = claims(3, n_unreadable=1)
    made = put(project, "scripted", items)

    shown = made.document.model_dump_json() + pd.read_parquet(made.published.path).to_json()

    assert not any(text in shown for i in items for text in (i.claim, *i.evidence))
    assert "so it is" not in shown


# -- scorecards and decisions -----------------------------------------------------------------------------------------


def night(project, *, gate=""):
    project.write_suite(graders=', judged: {use: citation_accuracy, support: "judge:scripted"}', gate=gate)
    path = project.suite_folder / "suite.yaml"
    path.write_text(path.read_text().replace("min_pass_rate: {", "min_pass_rate: {judged: 0.5, "))
    loaded = load_suite(project.folder / "datasets", "small", load_attribute)
    store, place = store_of(project), AdHoc("small", "r1")
    suite = loaded.suite
    run_place(
        store, place, suite, load_cases(loaded.folder, suite.cases), graders=loaded.graders,
        load_target=lambda: load_target(suite.target, suite_folder=loaded.folder), decided_by="t", judges=loaded.judges,
    )  # fmt: skip
    return store, place, read_head(open_audit_log(store, place))


def test_a_decision_rests_on_the_calibration_that_it_saw(project):
    _, place, head = night(project)
    figures = head.summary.judges["scripted"]
    assert (figures.standing.trust, figures.graders, figures.raw.n) == (Trust.UNCALIBRATED, ("judged",), 1)
    assert (head.decision.revision, head.calibration) == (1, {})

    put(project, "scripted", claims(60, n_slips=2))
    store, _, head = night(project)
    assert (head.decision.revision, head.summary.judges["scripted"].standing.trust) == (2, Trust.TRUSTED)
    assert head.summary.judges["scripted"].corrected is not None
    assert head.calibration["scripted"]["gold"]["domain"] == "small"
    assert head.decision.inputs["calibration/scripted/small"] == head.inputs["calibration/scripted/small"]

    put(project, "scripted", claims(60, n_slips=20))
    store, _, head = night(project)
    assert (head.decision.revision, head.summary.judges["scripted"].standing.trust) == (3, Trust.UNTRUSTED)

    then = read_head(open_audit_log(store, place, as_decided=2))
    assert then.summary.judges["scripted"].standing.trust is Trust.TRUSTED
    assert then.calibration["scripted"]["figures"]["table"]["n_false_fail"] == 2
    assert len(project.calls()) == 9  # the system was asked once

    assert verify_place(store, place).faults == ()
    shutil.rmtree(project.storage / "_history" / "calibration")
    (fault,) = verify_place(store, place).faults
    assert "log 2: " in fault
    assert "calibration/judge=scripted/domain=small" in fault


def test_a_grader_on_an_untrusted_judge_does_not_gate_and_on_a_trusted_one_does(project):
    put(project, "scripted", claims(60, n_slips=2))
    _, _, head = night(project, gate=", judges: {domain: small}")
    rule = next(rule for rule in head.decision.rules if rule.rule == "min_pass_rate_judged")
    assert (rule.is_ignored, rule.counts.n_measured > 0) == (False, True)

    _, _, head = night(project, gate=", judges: {domain: elsewhere}")
    rule = next(rule for rule in head.decision.rules if rule.rule == "min_pass_rate_judged")
    assert rule.is_ignored
    assert "scripted is borrowed" in rule.reason


# -- the library ------------------------------------------------------------------------------------------------------


def test_calibrate_judge_returns_what_the_earlier_library_did_and_every_figure():
    rows = [{"claim": "Notice is 30 days.", "span": "Notice is 30 days.", "label": True},
            {"claim": "Notice is 45 days.", "span": "Notice is 30 days.", "label": False},
            {"claim": "unreadable", "span": "x", "label": False}]  # fmt: skip

    def provider(prompt):
        if "unreadable" in prompt:
            return "no"
        return json.dumps({"label": "supported", "reason": "r"})

    provider.model = "m9"
    found = sc.calibrate_judge(rows, provider)

    assert (found["n"], found["agreement"], found["threshold"], found["model"]) == (3, 0.5, 0.6, "m9")
    assert found["confusion"] == {"tp": 1, "fp": 1, "tn": 0, "fn": 0}
    assert found["failures"] == {"judge_failed:UnreadableVerdictError.no_json": 1}
    assert [(row["pred"], row["correct"]) for row in found["rows"]] == [(True, True), (True, False), (None, None)]
    assert found["calibration"]["figures"]["specificity"]["value"] == 0.0
    assert sc.calibrate_judge(rows)["model"] == "stub"
