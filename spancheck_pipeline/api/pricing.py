"""A price table, from what a caller of the library gives.

What an answer costs by it lives in ``evidence/run.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spancheck_pipeline.api.case_result import CaseResult
from spancheck_pipeline.evidence.run import ModelPrice

Pricing = Mapping[str, Any]
"""Model → price (``ModelPrice`` or its dict), or the earlier ``{"input_per_1k": usd, "output_per_1k": usd}``."""


def as_prices(pricing: Pricing | None, results: Sequence[CaseResult]) -> dict[str, ModelPrice]:
    """Return a price table from what a caller gave; the earlier per-1k form prices every model that answered."""
    if not pricing:
        return {}
    if set(pricing) <= {"input_per_1k", "output_per_1k"}:
        price = ModelPrice(
            input_usd_per_mtok=1000 * float(pricing.get("input_per_1k", 0)),
            output_usd_per_mtok=1000 * float(pricing.get("output_per_1k", 0)),
        )
        models = {(result.output.served_model or "") if result.output else "" for result in results}
        return dict.fromkeys(models, price)
    return {
        model: item if isinstance(item, ModelPrice) else ModelPrice.model_validate(item)
        for model, item in pricing.items()
    }
