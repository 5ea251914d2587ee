"""Abstaining on a region: where the mark must stand, and what is no mark."""

from __future__ import annotations

import pytest

from spancheck_pipeline.evidence.criterion import AbstentionTarget
from spancheck_pipeline.grading.criteria.unreadable import abstains


def code(answer: str, region: str | None = None, forbidden=(), markers=()) -> str:
    target = AbstentionTarget(region=region, forbidden_terms=list(forbidden), markers=list(markers))
    return abstains(answer, target).code


def test_an_answer_that_marks_the_region_abstains_on_it():
    assert code("Name: Jo Berg\nSignature: ~~~", "Signature", ["Jo Berger"]) == "held"


@pytest.mark.parametrize(
    "mark",
    [
        "~~~", "~~~~~~", "[illegible]", "[ILLEGIBLE]", "[unreadable – smudge]", "[?]", "cannot be read",
        "can’t be read",
        "could not be deciphered", "I am unable to read it", "It is illegible.", "not legible",
        "I cannot make out the word",
    ],
)  # fmt: skip
def test_the_usual_marks_are_known(mark):
    assert code(mark) == "held"


@pytest.mark.parametrize(
    "text", ["~~", "~~gone~~", "It is not illegible.", "I read it well.", "", "[blank]", "Legible"]
)
def test_what_is_no_mark_does_not_abstain(text):
    assert code(text) == "no_abstention"


def test_a_suite_may_have_words_of_its_own():
    assert code("Dose: (Fleck)", "Dose") == "no_abstention"
    assert code("Dose: (Fleck)", "Dose", markers=["(fleck)"]) == "held"


def test_a_forbidden_term_fails_wherever_it_stands_and_beside_whatever_mark():
    assert code("Dose: ~~~, perhaps 5  MG", "Dose", ["5 mg"]) == "forbidden_term"
    assert code("[illegible]\n\nNote: 5 mg", forbidden=["5 mg"]) == "forbidden_term"


@pytest.mark.parametrize(
    ("answer", "region", "expected"),
    [
        ("Name: ~~~\nDate: 2019", "Name", "held"),
        ("Name: ~~~\nDate: 2019", "Date", "no_abstention"),
        ("Date: 2019, Name: ~~~", "Date", "no_abstention"),
        ("Date: 2019; Name: ~~~", "Name", "held"),
        ("| Name | ~~~ |\n| Date | 2019 |", "Name", "held"),
        ("| Name | ~~~ | Date | 2019 |", "Date", "no_abstention"),
        ("The signature cannot be read. The date is 2019.", "signature", "held"),
        ("The signature cannot be read. The date is 2019.", "date", "no_abstention"),
        ("I cannot read the signature.", "signature", "held"),
        ("Signature:\n\n[illegible]", "Signature", "held"),
        ("## Signature\n~~~", "Signature", "held"),
        ("- **Signature:** ~~~\n  - Date: 2019", "signature", "held"),
        ('{"signature": "[illegible]", "date": "2019"}', "signature", "held"),
        ('{"signature": "[illegible]", "date": "2019"}', "date", "no_abstention"),
        ("Undated: ~~~", "date", "no_region"),
        ("~~~", "Name", "held"),  # nothing else was read
        ("Date: 2019, rest ~~~", "Name", "no_region"),
    ],
)
def test_the_mark_must_stand_in_the_region(answer, region, expected):
    assert code(answer, region) == expected


def test_a_code_fence_of_tildes_is_no_mark():
    assert code("~~~\nName: Jo\n~~~") == "no_abstention"
    assert code("Here:\n~~~text\nName: Jo\n~~~\nDone") == "no_abstention"
    assert code("Name:\n~~~\nDate:\n~~~", "Name") == "held"
