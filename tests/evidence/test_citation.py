"""Citations as producers give them, and inline markers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence.citation import Citation, markers, resolve_marker, strip_markers
from spancheck_pipeline.evidence.claim import marked_claims
from spancheck_pipeline.evidence.run import Context


def ids(text, known=None):
    return [marker.ids for marker in markers(text, known)]


def test_markers_are_read_with_their_places():
    text = "Notice is 30 days [1][2, 3]."
    assert [(m.ids, text[m.start : m.end]) for m in markers(text)] == [(("1",), "[1]"), (("2", "3"), "[2, 3]")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("due [1-3].", ("1", "2", "3")),
        ("due [1–3].", ("1", "2", "3")),
        ("due [^1].", ("1",)),
        ("due [doc1].", ("doc1",)),
        ("due (doc2).", ("doc2",)),
        ("due【4:0†file.pdf】.", ("4:0",)),
        ("due【4†source】.", ("4",)),
        ("due¹.", ("1",)),
        ("due.¹²", ("12",)),
        ("due<sup>3</sup>.", ("3",)),
        ("due [Source: Lease A].", ("Lease A",)),
        ("due [Sources: Lease A, part 2; Annex].", ("Lease A, part 2", "Annex")),
        ("due [Sources: 1, doc2].", ("1", "doc2")),
        ('due.<sup id="r"><a href="#n">3</a></sup>', ("3",)),
        ('<cite id="s1">due</cite>', ("s1",)),
        ("due【《本草》第1卷】", ("《本草》第1卷",)),
    ],
)
def test_each_form_of_marker(text, found):
    assert ids(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "it fell in [2019]", "use x[1] here", "`a [1]`", "```\na [1]\n```", "[1]: https://x.org", "[^1]: a note",
        "[1](https://x.org)", "[1](https://x.org/a_(b))", "10² m²", "5 km² of land", "10<sup>2</sup>", "[1-900]",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_marker_is_none(text):
    assert ids(text) == []


def test_an_id_that_exists_is_a_marker_in_any_form():
    assert ids("due [lease-a] and [other]", ["lease-a"]) == [("lease-a",)]


def test_stripping_keeps_every_other_place():
    text = "Notice [1] is <cite id='a'>30 days</cite>."
    blanks = " " * len("<cite id='a'>")
    assert strip_markers(text) == f"Notice     is {blanks}30 days       ."


@given(st.text(st.sampled_from("a1 [](),-^¹【】:†<>/supcite=\"'\n`"), max_size=80))
def test_stripped_text_is_as_long_and_differs_in_blanks_only(text):
    stripped = strip_markers(text)
    assert len(stripped) == len(text)
    assert all(after in {before, " "} for before, after in zip(text, stripped, strict=True))


def test_a_marker_names_a_passage_by_id_or_by_place():
    contexts = [Context(source_id="lease"), Context(source_id="annex", uri="https://x.org")]
    named = {name: resolve_marker(name, contexts) for name in ("annex", "1", "doc2", "https://x.org", "3", "0")}
    assert named == {"annex": "annex", "1": "lease", "doc2": "annex", "https://x.org": "annex", "3": None, "0": None}


def test_producers_names_become_the_canonical_ones():
    read = Citation.model_validate({"span": "a b c", "source": 7, "colour": "red"})
    assert (read.quote, read.source_id) == ("a b c", "7")


def test_wide_brackets_are_markers_too():
    answer = "通知期为三十天［1］。租金按月支付［2，3］。"
    assert [(marker.ids, answer[marker.start : marker.end]) for marker in markers(answer)] == [
        (("1",), "［1］"), (("2", "3"), "［2，3］"),
    ]  # fmt: skip


def test_a_wide_marker_after_a_stop_belongs_to_the_sentence_before_it():
    answer = "通知期为三十天。［1］租金按月支付。［2］"
    told = [(answer[marked.claim.start : marked.claim.end], marked.markers[0].ids) for marked in marked_claims(answer)]
    assert told == [("通知期为三十天。［1］", ("1",)), ("租金按月支付。［2］", ("2",))]


def test_a_marker_within_another_one_is_no_second_one():
    answer = "Rent is due <sup>[1]</sup> and paid monthly <sup>[1]</sup>."
    assert [(marker.start, marker.end) for marker in markers(answer, ["1"])] == [(12, 26), (44, 58)]
