"""A suite over its dates: values with intervals, and marks where something is another one."""

import json
from pathlib import Path

import jsonschema

from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.decision.trend import NightFacts, TrendDocument, trend_of
from spancheck_pipeline.grading.score import Outcome

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "trend.json").read_text())


def night(day, passed, *, of=10, spec="s1", target="1", cases="d1", answer=Answer.PASS, grader="grounded", epochs=1):
    names = [f"c{i}" for i in range(of)]
    card = build_scorecard(
        suite="leases",
        run_id=f"r{day}",
        date=f"2026-03-{day:02d}",
        rows=[RowFacts(case_id=c, answered=True, latency_ms=5.0) for c in names],
        scores=[
            ScoreFacts(grader=grader, case_id=c, outcome=Outcome.PASS if i < passed else Outcome.FAIL, value=1.0)
            for i, c in enumerate(names)
        ],
        graders=[GraderFacts(name=grader, measurement="groundedness", spec_digest=spec)],
    )
    return NightFacts(scorecard=card, target_version=target, dataset_digest=cases, answer=answer, epochs=epochs)


def test_each_date_has_its_rate_with_interval_in_the_order_of_dates():
    found = trend_of("leases", [night(2, 5, answer=Answer.FAIL), night(1, 9)])

    points = found.rates["grounded"]
    assert [(p.date, p.value, p.n) for p in points] == [("2026-03-01", 0.9, 10), ("2026-03-02", 0.5, 10)]
    assert all(p.low < p.value < p.high for p in points)
    assert [(n.run_id, n.answer) for n in found.nights] == [("r1", "PASS"), ("r2", "FAIL")]
    assert [p.value for p in found.numbers["p95_latency_ms"]] == [5.0, 5.0]
    assert [p.value for p in found.numbers["mean_cost_usd"]] == [None, None]
    assert list(found.rates) == ["grounded", "hallucination_rate"]
    jsonschema.validate(found.model_dump(mode="json"), SCHEMA)


def test_what_is_another_one_than_on_the_date_before_is_marked_once():
    found = trend_of(
        "leases",
        [
            night(1, 9),
            night(2, 9, spec="s2"),
            night(3, 9, spec="s2", target="2"),
            night(4, 9, spec="s2", target="2", cases="d2"),
            night(5, 9, spec="s2", target="2", cases="d2"),
            night(6, 9, spec="s3", target="3", cases="d3"),
        ],
    )

    marks = [(), ("grader",), ("target",), ("cases",), (), ("grader", "target", "cases")]
    assert [p.marks for p in found.rates["grounded"]] == marks
    assert [p.marks for p in found.rates["hallucination_rate"]] == marks
    assert [p.marks for p in found.numbers["p95_latency_ms"]] == [
        (), (), ("target",), ("cases",), (), ("target", "cases"),
    ]  # fmt: skip


def test_a_grader_that_comes_later_begins_later_and_unmarked():
    found = trend_of("leases", [night(1, 9), night(2, 9, grader="other")])

    assert [(p.date, p.marks) for p in found.rates["other"]] == [("2026-03-02", ())]


def test_a_date_that_was_asked_another_number_of_times_is_marked():
    found = trend_of("leases", [night(1, 9), night(2, 9, epochs=3), night(3, 9, epochs=3)])

    assert [p.marks for p in found.rates["grounded"]] == [(), ("epochs",), ()]


def test_the_format_does_not_change_unnoticed():
    assert TrendDocument.model_json_schema(mode="serialization") == SCHEMA
