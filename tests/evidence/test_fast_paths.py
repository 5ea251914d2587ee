"""What is skipped for speed changes nothing: each fast path says what the slow one says, on any text."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from spancheck_pipeline.evidence import citation, folding, sentence
from spancheck_pipeline.evidence.citation import markers
from spancheck_pipeline.evidence.folding import Folded, fold, fold_text
from spancheck_pipeline.evidence.word import PerWord, each_word, first_word, remember, word_starts, word_texts
from spancheck_pipeline.grading import cuts, provenance
from spancheck_pipeline.grading.provenance import Quote, locate
from spancheck_pipeline.grading.support import carries, check_support
from spancheck_pipeline.grading.support import dates as dates_module
from spancheck_pipeline.grading.support import numbers as numbers_module
from spancheck_pipeline.grading.support.dates import dates
from spancheck_pipeline.grading.support.numbers import quantities
from spancheck_pipeline.grading.support.polarity import (
    OPPOSITES,
    content_in_order,
    may_oppose,
    may_turn,
    opposite_of,
    unprefixed,
)
from spancheck_pipeline.grading.support.reading import read

PIECES = (
    "notice", "Of", "30", "more than ", "usd ", "thirty", " ", "  ", "\n", "\t", "\r\n", ".", "...", "…", "。", "!",
    "-", "\u2013", "\xad", "'", "’", "“", '"', "[1]", "[2, 3]", "[^4]", "【5:0†a】", "(doc6)",
    "<sup>7</sup>", "¹", "<b>", "</p>", "&amp;", "](http://x.y)", "[", "\\*", "**", "_", "`",
    "|", "# ", "- ", "1. ", "Dr", "Inc", "e.g", "合同", "五年", "é", "e\u0301", "ﬁ", "\u200b", "¾",
    "$5", "5 mg", "March 14", "14/03/2026", "2026年3月", "not", "un", "legal", "\x1c", "\u2028",
    "\u0e01",
    "« ", " »", " • ", "†", "⁽¹⁾", "¹,²", "&#91;1&#93;", "<sup>", "</sup>", "<wbr>", "¬\n", "\\[", "](<a b>)",
    "[[8]]", "[9](x)",
    "3. März", "z. B. ", "der 2. Tag", ".“ ", "。」", "\n(a) ", "\n- ", "a@b.org",
)  # fmt: skip
TEXT = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=60)


def test_a_text_that_looks_plain_folds_to_its_small_letters_with_every_place_as_it_was() -> None:
    folded = fold("Notice is due in 30 days, isn't it?")
    assert folded.text == "notice is due in 30 days, isn't it?"
    assert folded.original(13, 15) == (13, 15)


@given(TEXT)
@example("- item")
@example("a -b")
@example(" a")
@example("x' y")
def test_folding_without_the_way_back_gives_the_same_text(text: str) -> None:
    assert fold_text(text) == fold(text).text


@given(TEXT)
def test_a_plain_text_folds_as_it_would_place_by_place(text: str) -> None:
    folder = folding._Folder(text)
    at = folder.line_start(0)
    while match := folding._SPECIAL.search(text, at):
        if match.start() > at:
            folder.plain(at, match.start())
        at = folder.special(match)
    if at < len(text):
        folder.plain(at, len(text))
    slow = Folded(
        "".join(folder.out).rstrip(" "),
        folder.has_wraps,
        folder.has_numbers,
        folder.folded,
        folder.start,
        folder.end,
        folder.even,
    )
    fast = fold(text)
    assert (fast.text, fast.has_wraps, fast.has_numbers) == (slow.text, slow.has_wraps, slow.has_numbers)
    assert [fast.original(i, i + 1) for i in range(len(fast.text))] == [
        slow.original(i, i + 1) for i in range(len(fast.text))
    ]


@given(TEXT)
def test_sentence_ends_are_looked_for_only_where_one_can_be(text: str) -> None:
    slow = [(match.span(), match.lastgroup) for match in sentence._END.finditer(text)]
    assert [(match.span(), match.lastgroup) for match in sentence._ends(text)] == slow


@given(TEXT)
@example("see (e.g")
@example("\x1cU.S")
def test_the_last_word_is_what_a_pattern_finds_at_the_end(text: str) -> None:
    found = re.search(r"[^\s(\[\"'“‘]*\Z", text)
    assert sentence._last_word(text) == (found.group() if found else "")


@given(TEXT)
def test_markers_are_looked_for_only_where_one_can_start(text: str) -> None:
    hidden = citation._MASK.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    assert citation.masked(text) == hidden
    slow = [read for match in citation._MARKERS.finditer(hidden) if (read := citation._read(hidden, match)) is not None]
    assert list(markers(text)) == slow


@given(TEXT)
def test_words_without_places_are_the_words_with_places(text: str) -> None:
    with_places = word_starts(text)
    assert word_texts(text) == list(each_word(text)) == [word for word, _ in with_places]
    first = first_word(text)
    assert (first and (first.text, first.start)) == (with_places[0] if with_places else None)


@given(TEXT, st.integers(0, 60), st.integers(1, 30))
def test_a_quote_that_stands_once_is_found_where_folding_finds_it(text: str, start: int, size: int) -> None:
    quote = Quote.of(text[start : start + size])
    once = provenance._once(quote.raw, text)
    if quote.raw and once:
        assert provenance._exactly(quote, text, provenance._folded(quote, fold(text))) == once
        found = locate(quote, text)
        assert found is not None
        assert found.span == once


@given(TEXT)
def test_a_text_in_which_no_number_or_date_can_be_has_none(text: str) -> None:
    folded = fold_text(text)
    if not dates(folded):
        assert not any(dates_module._readings(match) for match in dates_module._DATE.finditer(folded))
    if not quantities(folded):
        assert not numbers_module._between(folded, 0, len(folded)) or dates(folded)


@given(TEXT)
def test_numbers_and_dates_are_looked_for_only_where_one_can_start(text: str) -> None:
    for pattern in (numbers_module._NUMBER, dates_module._DATE):
        everywhere, n = re.subn(r"\(\?=\S*?(\(\?:)?[ ]+# where one can start[^\n]*", r"\1", pattern.pattern, count=1)
        assert n == 1
        slow = re.compile(everywhere, re.VERBOSE)
        folded = fold_text(text)
        assert [m.span() for m in pattern.finditer(folded)] == [m.span() for m in slow.finditer(folded)]


WORDS = st.sampled_from(
    ["legal", "illegal", "increas", "decreas", "paid", "unpaid", "minimum", "maximum", "rent", *OPPOSITES]
)


@given(st.frozensets(WORDS, min_size=1, max_size=6), st.frozensets(WORDS, max_size=6))
def test_words_that_are_told_to_have_no_opposite_in_a_text_have_none(
    claimed: frozenset[str], told: frozenset[str]
) -> None:
    sides = dict.fromkeys(claimed).keys(), dict.fromkeys(told).keys()
    if not may_oppose(*sides, unprefixed(claimed), unprefixed(told)):
        assert not any(opposite_of(word, told) for word in claimed - told)


@given(TEXT)
@example("on the one hand")
@example("thirty-five's")
def test_a_text_without_a_digit_spells_a_number_only_where_one_of_its_words_is_a_numbers(text: str) -> None:
    folded = fold_text(text)
    words = numbers_module._RUN.findall(folded)
    assert numbers_module._spells(folded) == (not numbers_module._NUMBER_WORDS.isdisjoint(words))


@given(
    st.lists(st.sampled_from(("payment", " ", "unless", "if", "life", ", but not", "sofern", "除非", "é", "\ud800")))
)
def test_what_may_qualify_a_quote_is_never_missed(pieces: list[str]) -> None:
    text = "".join(pieces)
    if cuts._AFTER.search(text):
        assert cuts._MAY_FOLLOW.search(text.encode("utf-8", "replace"))


@given(TEXT)
def test_the_small_opposites_and_the_stems_of_a_sentence_are_all_that_it_holds_in_order(text: str) -> None:
    for told in read(text).sentences:
        assert told.held == told.stems.union(told.order)
        if not may_turn(told.text, told.tokens):
            assert content_in_order(told.text, told.tokens).negated == frozenset()


CLAIMS = st.lists(
    st.sampled_from(
        ["Acme", "PDFs", "pays", "rent", "30 days", "not", "legal", "illegal", "the", "a", "March 2026", ". "]
    ),
    max_size=6,
).map(" ".join)


@given(CLAIMS, st.lists(CLAIMS, max_size=3), st.sampled_from([0.0, 0.3, 0.6, 0.7, 0.75, 1.0]))
@example("PDFs pays rent.", ["PDFs pays rent."], 0.7)
def test_whether_passages_carry_a_claim_is_told_as_the_full_check_tells_it(
    claim: str, passages: list[str], threshold: float
) -> None:
    full = check_support(claim, passages, threshold=threshold).supported is True
    assert carries(claim, tuple(passages), threshold=threshold) == full


def test_what_was_found_out_is_kept_up_to_a_number_of_characters_and_what_comes_back_stays() -> None:
    asked: list[str] = []

    @remember(1024)
    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    # Each text is held as 64 characters more than it has: of 65, seven fill half of 1024.
    for letter in "abcdefga":
        assert upper(letter) == letter.upper()
    assert asked == list("abcdefg")
    for letter in "hijklma":  # a is in the older half, is taken over, and so outlives the next change
        upper(letter)
    for letter in "nopqrsta":
        upper(letter)
    assert asked.count("a") == 1
    upper("b")
    assert asked.count("b") == 2
    assert upper("x" * 129) == upper("x" * 129) == "X" * 129
    assert asked.count("x" * 129) == 2


def test_what_is_said_of_a_word_is_found_out_once_unless_the_word_is_long() -> None:
    asked: list[str] = []
    table = PerWord(lambda word: asked.append(word) or word.upper())
    assert [table[word] for word in ("a", "a", "b" * 41, "b" * 41)] == ["A", "A", "B" * 41, "B" * 41]
    assert asked == ["a", "b" * 41, "b" * 41]
