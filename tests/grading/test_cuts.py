"""Words that a quote must not leave out, inside its ellipsis or right beside it."""

import pytest

from spancheck_pipeline.evidence.text import Span
from spancheck_pipeline.grading.cuts import cut_warnings, hidden_in


def warned(quote, passage):
    start = passage.index(quote)
    return cut_warnings(passage, Span(start, start + len(quote)))


def test_what_follows_in_the_sentence_and_what_stands_before_is_seen():
    assert warned("may end the lease", "They may end the lease, unless it rains.") == ("cut_before_qualifier",)
    assert warned("liable for it", "They are not liable for it.") == ("cut_after_negation",)
    assert warned("may end the lease", "They may end the lease. Unless it rains, we walk.") == ()


@pytest.mark.parametrize(
    "rest", ["but\nnot in May", "only\u00a0if both agree", "**unless** it rains", "_except_ in May", "save  for May"]
)
def test_line_breaks_and_emphasis_hide_no_qualifier(rest):
    assert warned("may end the lease", f"They may end the lease {rest}.") == ("cut_before_qualifier",)


def test_emphasis_hides_no_negation_before_a_quote():
    assert warned("liable for it", "They are **not** liable for it.") == ("cut_after_negation",)


@pytest.mark.parametrize(
    "passage", ["Der Mieter zahlt die Miete nicht.", "Er sagt, der Mieter zahlt die Miete nicht, leider."]
)
def test_a_negation_that_stands_last_is_what_follows_the_quote(passage):
    assert warned("Mieter zahlt die Miete", passage) == ("cut_before_qualifier",)


def test_a_negation_of_the_next_clause_is_none_of_the_quote():
    assert warned("Mieter zahlt die Miete", "Der Mieter zahlt die Miete nicht allein.") == ()


@pytest.mark.parametrize(
    "gap", [" in a knot ", " only-child ".replace("only-", "lonely "), " im mai ", " non-stop ", " nothings "]
)
def test_words_that_only_look_like_it_hide_nothing(gap):
    assert hidden_in(gap) == ""


@pytest.mark.parametrize(
    "gap", [" isn't ", " es sei denn ", " à moins que ", " tampoco ", " non ", " inte ", "不", "ない", " немає без "]
)
def test_a_gap_hides_negations_and_qualifiers_of_many_languages(gap):
    assert hidden_in(gap)
