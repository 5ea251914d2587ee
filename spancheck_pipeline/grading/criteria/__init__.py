"""Whether an answer holds a criterion: one check a type, each of which needs the answer and nothing else.

What a target may look like lives in ``evidence/criterion.py``; how criteria become a score in ``graders/criteria.py``.
"""

from __future__ import annotations

from spancheck_pipeline.evidence.case import Criterion
from spancheck_pipeline.evidence.criterion import (
    AbstentionTarget,
    CircledTarget,
    DateTarget,
    FieldTarget,
    PathTarget,
    TableTarget,
    TextTarget,
    read_target,
)
from spancheck_pipeline.evidence.dates import DateOrder
from spancheck_pipeline.grading.criteria.json_answer import field_equals, path_has_type
from spancheck_pipeline.grading.criteria.markdown_table import has_rows
from spancheck_pipeline.grading.criteria.marked_option import is_marked
from spancheck_pipeline.grading.criteria.result import Held
from spancheck_pipeline.grading.criteria.unreadable import abstains
from spancheck_pipeline.grading.criteria.wording import holds_exactly, holds_text, lacks_text, names_day


def check(criterion: Criterion, answer: str, *, date_order: DateOrder, other_order: bool) -> Held:  # noqa: PLR0911 - one way out a shape
    """Return whether an answer holds a criterion.

    >>> says = Criterion(id="rent", type="presence", target={"text": "2,400 EUR"})
    >>> check(says, "The rent is 2,400  eur.", date_order="month_first", other_order=False).outcome
    <Outcome.PASS: 'pass'>
    """
    target = read_target(criterion.type, criterion.target)
    match target:
        case DateTarget():
            return names_day(answer, target.date, order=date_order, other_order=other_order)
        case TextTarget():
            checks = {"presence": holds_text, "absence": lacks_text, "identity": holds_exactly}
            return checks[criterion.type](answer, target.text)
        case TableTarget():
            return has_rows(answer, target.table_rows, which=target.table)
        case CircledTarget():
            return is_marked(answer, target.circled, region=target.region)
        case PathTarget():
            return path_has_type(answer, target.path, target.type)
        case FieldTarget():
            return field_equals(answer, target.path, target.value)
        case AbstentionTarget():
            return abstains(answer, target)
    return Held.unmeasured("no_judge", "A judge decides this, and none has.")


__all__ = ["Held", "check"]
