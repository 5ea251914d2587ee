"""Courtesies: sentences that say nothing that could be wrong ("Happy to help!"), in every language that is known.

Their beginnings are data (``courtesies`` in ``abstention_patterns/languages.toml``). Declining is ``abstention.py``'s.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

import re2

from spancheck_pipeline.grading.language import data_file, flatten, has_digit

LONGEST: Final = 160
"""Characters of a courtesy; what is longer says more."""
_GOES_ON: Final = re.compile(r"[:;]\s*\S|\s-+\s")
"""What may follow a courtesy in its sentence and is none."""


def is_courtesy(sentence: str) -> bool:
    """Whether a sentence is a courtesy: begins as one, has no number, and no second part after a colon or a dash.

    >>> is_courtesy("Ich hoffe, das hilft Ihnen weiter."), is_courtesy("Happy to help: the tenant pays.")
    (True, False)
    """
    flat = flatten(sentence[: LONGEST + 1])
    is_plain = len(flat) <= LONGEST and not has_digit(flat) and _GOES_ON.search(flat) is None
    return is_plain and _beginnings().match(flat) is not None


@cache
def _beginnings() -> Any:
    return re2.compile(r"[\x00-/:-`{-\x7f]*(?:" + "|".join(data_file("languages")["courtesies"]) + ")")
