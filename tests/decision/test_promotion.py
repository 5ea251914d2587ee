"""Which promotion counts for a date."""

import datetime as dt
import json
from pathlib import Path

import jsonschema

from spancheck_pipeline.decision.difference import DifferenceDocument
from spancheck_pipeline.decision.promotion import (
    Promotion,
    PromotionKey,
    PromotionSeal,
    first_before,
    last_good_before,
    release_before,
)

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
SCHEMAS_OF = {"promotion": Promotion, "promotion_seal": PromotionSeal, "difference": DifferenceDocument}
KEYS = [PromotionKey(1, "2026-03-02"), PromotionKey(2, "2026-03-05"), PromotionKey(3, "2026-03-01")]


def test_the_last_good_run_is_the_latest_date_and_the_release_the_newest_pin():
    assert last_good_before(KEYS, "2026-03-09") == PromotionKey(2, "2026-03-05")
    assert release_before(KEYS, "2026-03-09") == PromotionKey(3, "2026-03-01")
    assert first_before(KEYS, "2026-03-09") == PromotionKey(1, "2026-03-02")


def test_a_date_is_never_compared_with_itself_or_with_a_later_one():
    assert last_good_before(KEYS, "2026-03-05") == PromotionKey(1, "2026-03-02")
    assert release_before(KEYS, "2026-03-01") is None
    assert first_before(KEYS, "2026-03-02") == PromotionKey(3, "2026-03-01")


def test_an_ad_hoc_run_has_no_date_and_sees_them_all():
    assert last_good_before(KEYS, None) == PromotionKey(2, "2026-03-05")


def test_of_one_date_promoted_twice_the_newest_counts():
    twice = [PromotionKey(1, "2026-03-02"), PromotionKey(2, "2026-03-02")]
    assert last_good_before(twice, None) == twice[1]


def test_a_promotion_is_as_its_schema_says_and_the_formats_do_not_change_unnoticed():
    promotion = Promotion(
        kind="release", number=1, suite="leases", date="2026-03-02", run_id="r", captured_run="c", cases="k", gate="g",
        decision_revision=1, answer="PASS", promoted_at=dt.datetime(2026, 3, 2, tzinfo=dt.UTC), promoted_by="anna",
    )  # fmt: skip
    for name, model in SCHEMAS_OF.items():
        published = json.loads((SCHEMAS / f"{name}.json").read_text())
        assert published == model.model_json_schema(mode="serialization"), name
    jsonschema.validate(promotion.model_dump(mode="json"), json.loads((SCHEMAS / "promotion.json").read_text()))
