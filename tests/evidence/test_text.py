"""Words, sentences and folding."""

import gc
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence.boundary import find_tokens
from spancheck_pipeline.evidence.text import (
    count_words,
    fold,
    fold_loosely,
    fold_unnumbered,
    is_word_char,
    sentences,
    words,
)

AWKWARD = st.text(
    st.one_of(
        st.sampled_from(list("aA1 .,-–'’\"*_`[](){}|<>/&;#\n\t\u00ad\u200b²½ﬁß٣合ก\u0301İ…\\!【】†")), st.characters()
    ),
    max_size=60,
)


def test_a_fold_takes_away_what_a_reader_does_not_see_and_knows_the_way_back():
    text = "Either **party** may “termi-\nnate” it."
    folded = fold(text)
    assert folded.text == 'either party may "terminate" it.'
    at = folded.find("party")
    span = folded.original(at, at + 5)
    assert text[span.start : span.end] == "party"


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("AT&amp;T pays &nbsp; all", "at&t pays all"),
        ("４５ days", "45 days"),
        ("the oﬃce", "the office"),
        ("3–5 — years", "3-5 - years"),
        ("the party’s", "the party's"),
        ("termi\u00adnation", "termination"),
        ("no\u200btice", "notice"),
        ("wri\x07tten", "written"),
        ("| a | b |\n|---|---|\n| c | d |", "a b c d"),
        ("- rent\n- tax", "rent tax"),
        ("## Rent\ndue", "rent due"),
        ("see [the lease](https://x.org/a) now", "see the lease now"),
        ("due[12] each [3]. Late【4:0†a.pdf】", "due each. late"),
        ("due<sup>1</sup> now, due¹ now", "due now, due now"),
        ("foo<b>bar</b><br>baz", "foo bar baz"),
        ("合同\n生效", "合同生效"),
        ("x \\* y", "x * y"),
        ("termi-\n> nation", "termination"),
        ("termi\u00ad\nnation", "termination"),
        ("termi¬\n nation", "termination"),
        ("2019–\n2021", "2019-2021"),
        ("COVID-\n19", "covid-19"),
        ("long<wbr>word", "longword"),
        ("see [the lease](https://x.org/a_(b)) now", "see the lease now"),
        ("see [the lease](<a b> 'A') now", "see the lease now"),
        ("\\[net\\] \\*rent\\* a\\_b", "net rent a_b"),
        ("a\n***\nb", "a b"),
        ("pay • rent • tax", "pay rent tax"),
        ("due<sup>[1]</sup> now", "due now"),
        ('due<sup id="r"><a href="#n">&#91;1&#93;</a></sup> now', "due now"),
        ("due<sup>1,2</sup> now", "due now"),
        ("due[[1]](#a) now", "due now"),
        ("due[1](https://x.org) now", "due now"),
        ("due[citation needed] now", "due now"),
        ("due† now", "due now"),
        ("due¹,² now", "due now"),
        ("due<sup>see the note</sup> now", "due see the note now"),
        ("on the 1<sup>st</sup>", "on the 1st"),
        ("l&rsquo;&eacute;t&eacute;", "l'été"),
        ("« le loyer » est", '"le loyer" est'),
        ("»Miete« ist", '"miete" ist'),
        ("a &#124; b", "a b"),
    ],
)
def test_each_documented_fold(text, folded):
    assert fold(text).text == folded


@pytest.mark.parametrize("text", ["10² m", "3½ x", "h₂o", "el año", "договор", "5*3 a_b"])
def test_what_differs_in_meaning_is_not_folded(text):
    assert fold(text).text == text


def test_a_lists_numbers_are_left_out_in_a_reading_of_its_own():
    text = "We pay:\n1. rent and\n2) tax of\n(a) 5. June"
    assert fold(text).text == "we pay: 1. rent and 2) tax of (a) 5. june"
    assert fold(text).has_numbers
    assert fold_unnumbered(text).text == "we pay: rent and tax of 5. june"


def test_a_raised_digit_in_html_is_the_raised_digit():
    assert fold("10<sup>2</sup> m").text == fold("10² m").text != fold("102 m").text


def test_a_line_wrap_hyphen_has_two_readings():
    assert fold("long-\nterm").text == "longterm"
    assert fold_loosely("long-\nterm").text == "long\0term"


@pytest.mark.parametrize(
    ("text", "needle"),
    [
        ("130 days", "30 days"), ("3.5 days", "5 days"), ("a cart", "art"), ("-5 degrees", "5 degrees"),
        ("5% of it", "5"), ("3-5 years", "5 years"), ("can't pay", "can"), ("non-refundable", "refundable"),
        ("1,000 euros", "000 euros"), ("10² m", "10"), ("10:30 today", "30 today"), ("10'000 euros", "000 euros"),
        ("is 3.5 kg", "is 3."),
        ("to max@ex.org", "to max@ex"), ("max@ex.org pays", "ex.org pays"), ("max@ex.org pays", "org pays"),
        ("termi-\n  nation is", "nation is"), ("the termi-\nnation", "the termi"),
    ],
)  # fmt: skip
def test_a_match_does_not_start_or_end_inside_a_token(text, needle):
    assert find_tokens(text, needle) == -1


@pytest.mark.parametrize(
    ("text", "needle"),
    [
        ("l'échéance", "échéance"),
        ("state-of-the-art", "art"),
        ("本合同生效", "合同"),
        ("(5 days)", "5 days"),
        ("$5", "5"),
        ("is due.the rent", "the rent"),
        ("a - b\nc d", "c d"),
    ],
)
def test_a_match_may_start_where_a_token_does(text, needle):
    assert find_tokens(text, needle) >= 0


@given(AWKWARD)
def test_an_offset_always_slices_the_original(text):
    folded = fold(text)
    for at in range(len(folded.text)):
        span = folded.original(at, at + 1)
        assert 0 <= span.start <= span.end <= len(text)


@given(AWKWARD)
def test_the_way_back_never_turns_round(text):
    folded = fold(text)
    starts = [folded.original(at, at + 1).start for at in range(len(folded.text))]
    assert starts == sorted(starts)


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=8), st.data())
def test_a_fold_never_joins_two_words(found, data):
    signs = st.sampled_from(
        [" ", "\n", "\t", " <b>", "</b> ", "<br>", "|", " *", "* ", "[1]", " [2] ", "&nbsp;", "<i>", " — "]
    )
    text = found[0] + "".join(data.draw(signs) + word for word in found[1:])
    seen = [word.text for word in words(fold(text).text)]
    assert seen == list(found)


@given(AWKWARD)
def test_a_fold_has_no_white_space_but_single_spaces(text):
    folded = fold(text).text
    assert folded == folded.strip(" ")
    assert "  " not in folded


@given(st.text(st.characters(categories=["Lu", "Ll", "Lo", "Mn"]), max_size=40))
def test_composed_and_decomposed_letters_fold_alike(text):
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert fold(unicodedata.normalize("NFC", decomposed)).text == fold(composed).text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It costs $3.50. Pay now.", ["It costs $3.50.", "Pay now."]),
        ("Dr. Smith left. J. R. Roe stayed.", ["Dr. Smith left.", "J. R. Roe stayed."]),
        ("See Art. 5 and No. 7 there. Next one.", ["See Art. 5 and No. 7 there.", "Next one."]),
        ("He said no. She said yes.", ["He said no.", "She said yes."]),
        ("# Rent\nIt is due.\n- one\n- two", ["# Rent", "It is due.", "- one", "- two"]),
        ('She said "Stop!" and left. Then "Go."', ['She said "Stop!" and left.', 'Then "Go."']),
        ("合同生效。有效期三年。", ["合同生效。", "有效期三年。"]),
        ("Notice is due.[1][2] Rent too [3]. End", ["Notice is due.[1][2]", "Rent too [3].", "End"]),
        ("The lease\nruns on\nlines.", ["The lease\nruns on\nlines."]),
        ("1. First thing. 2. Second thing.", ["1. First thing.", "2. Second thing."]),
        ("Am 3. März ist es fällig. Am 5. 4. 2026 auch.", ["Am 3. März ist es fällig.", "Am 5. 4. 2026 auch."]),
        ("Der 2. Weltkrieg endete. Gut.", ["Der 2. Weltkrieg endete.", "Gut."]),
        ("There were 5. Then 6. I am 7. He left.", ["There were 5.", "Then 6.", "I am 7.", "He left."]),
        ("Das gilt z. B. für Hunde. Gut.", ["Das gilt z. B. für Hunde.", "Gut."]),
        ("„Sie ist fällig.“ Dann ging er.", ["„Sie ist fällig.“", "Dann ging er."]),
        ("« Il est dû. » Il part.", ["« Il est dû. »", "Il part."]),
        ("彼は「有効です。」と言った。次。", ["彼は「有効です。」と言った。", "次。"]),
        ("Smith v. Jones held. Mme. Durand left.", ["Smith v. Jones held.", "Mme. Durand left."]),
        ("It is sold. iPads too.", ["It is sold.", "iPads too."]),
        ("Due.<sup><a href='#1'>1</a></sup> Next.", ["Due.<sup><a href='#1'>1</a></sup>", "Next."]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_says(text, parts):
    assert [text[s.start : s.end] for s in sentences(text)] == parts


@given(AWKWARD)
def test_sentences_are_in_order_and_hold_every_word(text):
    spans = sentences(text)
    flat = [place for span in spans for place in span]
    assert flat == sorted(flat)
    outside = set(range(len(text))) - {place for span in spans for place in range(span.start, span.end)}
    assert not any(is_word_char(text[place]) for place in outside)


def test_words_of_any_script_and_what_joins_them():
    assert [w.text for w in words("isn't 3.5 किराया देता договор 合同生效")] == [
        "isn't", "3.5", "किराया", "देता", "договор", "合同生效",
    ]  # fmt: skip


def test_four_letters_of_a_script_without_spaces_are_as_good_as_three_words():
    assert (count_words("合同生"), count_words("合同生效"), count_words("one two three")) == (2, 3, 3)


@pytest.mark.parametrize(
    "unit",
    [
        "a", "a ", "[1", "<b ", "&amp", "* a", "-\n", "…", "  ", "\u0301\u0316", "合", "a'", "\\", "¹",
        "](", "<sup><a>", "\n1. a", "• ", "d. 5. ",
    ],
)  # fmt: skip
def test_time_grows_no_faster_than_the_text(unit):
    small, large = (unit * 10_000)[:10_000], (unit * 300_000)[:300_000]

    def per_char(text):
        best = 1e9
        for index in range(3 if len(text) < 50_000 else 1):
            fresh = text + str(index)
            started = time.process_time()
            fold(fresh)
            sentences(fresh)
            best = min(best, time.process_time() - started)
        return best / len(text)

    gc.collect()
    assert per_char(large) <= 5 * per_char(small) + 2e-7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Causes are: 1. Drugs 2. Infection 3. Radiation.",
            ["Causes are:", "1. Drugs", "2. Infection", "3. Radiation."],
        ),
        ("1. Sign it. 2. Date it. Then wait.", ["1. Sign it.", "2. Date it.", "Then wait."]),
        ("Steps: **1.** Sign **2.** Date", ["Steps:", "**1.** Sign", "**2.** Date"]),
        ("He lives at No. 5. It is big.", ["He lives at No. 5.", "It is big."]),
        ("It was 1. Then it was 2. Then more.", ["It was 1.", "Then it was 2.", "Then more."]),
        ("Made by E.C. Segar in the U.S. The end.", ["Made by E.C. Segar in the U.S.", "The end."]),
    ],
)
def test_a_list_on_one_line_is_split_before_its_numbers(text, expected):
    assert [text[span.start : span.end] for span in sentences(text)] == expected


def test_a_long_list_on_one_line_takes_linear_time():
    text = "".join(f"{i % 9 + 1}. item{':' if i % 9 == 8 else ''} " for i in range(40_000))
    assert len(sentences(text)) > 39_000
