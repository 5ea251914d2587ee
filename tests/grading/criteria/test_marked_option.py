"""Options of a form: which of them an answer marks."""

from __future__ import annotations

import pytest

from spancheck_pipeline.grading.criteria.marked_option import is_marked

LIST = "- [x] Yes\n- [ ] No"
MARKED = [
    (LIST, "yes"), ("☑ Yes ☐ No", "Yes"), ("Yes ☐ No ☑", "No"), ("Yes (circled)", "Yes"),
    ("No, Yes (circled)", "Yes"),
    ("Selected: Yes", "Yes"), ("Circled option: **B**", "B"), ('The option "Yes" is circled.', "Yes"),
    ("The patient circled “Mild”.", "Mild"), ("Yes - selected", "Yes"), ("[x] **Yes**", "Yes"), ("✓ Weekly",
    "weekly"),
    ("1. [X] Single\n   - [ ] Married", "Single"), ("| Status | Single [x] | Married [ ] |", "Single"),
    ("Status: (x) Single ( ) Married", "Single"), ("> - [x] Yes", "Yes"), ("[x] Yes (circled)", "Yes"),
    ("Yes is circled; No is not circled", "Yes"), ("[x] Yes, with conditions", "Yes, with conditions"),
    ("[x] Yes and [ ] No", "Yes"), ("```\n[x] Yes\n```", "Yes"), ("◉ Ｙes ○ No", "Ｙes"), ("Q3: Mild (circled)",
    "Mild"),
]  # fmt: skip
UNMARKED = [
    (LIST, "No"), ("☑ Yes ☐ No", "No"), ("Yes ☐ No ☑", "Yes"), ("Yes (not circled)", "Yes"),
    ("No, Yes (circled)", "No"),
    ("Not selected: Yes", "Yes"), ("unchecked: Yes", "Yes"), ("No later than May (circled)", "No"),
    ("[x] No later than May", "No"), ("[x] Yes, with conditions", "Yes"), ("| Single [x] | Married [ ] |",
    "Married"),
    ("Status: (x) Single ( ) Married", "Married"), ("Yes is circled; No is not circled", "No"),
    ("The answer is Yes.", "Yes"),
    ("Maybe Yes (circled)", "Yes"), ("[x] None", "No"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "option"), MARKED)
def test_a_marked_option_is_marked(answer, option):
    assert is_marked(answer, option).code == "held"


@pytest.mark.parametrize(("answer", "option"), UNMARKED)
def test_an_option_beside_a_mark_is_not_marked(answer, option):
    assert is_marked(answer, option).code == "not_marked"


def test_an_option_that_is_marked_and_unmarked_is_not_taken_for_marked():
    assert is_marked("[x] Yes\n\nAgain:\n[ ] Yes", "Yes").code == "marked_both_ways"


def test_an_option_that_the_answer_does_not_name_is_said():
    assert is_marked("[x] No", "Yes").code == "no_option"


TWO = "Pollen: [ ] None  [x] Mild\nPenicillin:\n- [x] None\n- [ ] Mild\n\nDone: [x] Mild"


@pytest.mark.parametrize(
    ("region", "option", "code"),
    [
        (None, "Mild", "marked_both_ways"), ("pollen", "Mild", "held"), ("Pollen", "None", "not_marked"),
        ("Penicillin", "None", "held"), ("Penicillin", "Mild", "not_marked"), ("Dust", "Mild", "no_region"),
    ],
)  # fmt: skip
def test_the_same_option_of_two_questions_is_told_apart_by_its_region(region, option, code):
    assert is_marked(TWO, option, region=region).code == code
