"""How answers decline, in thirteen languages, and what looks like declining and is none."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.grading.abstention import abstention_of, check_patterns, detect_abstention
from spancheck_pipeline.grading.language import LANGUAGES, flatten
from spancheck_pipeline.grading.phrasebook import data_versions, phrasebook

TEXTS = tomllib.loads((Path(__file__).parent / "abstention_texts.toml").read_text("utf-8"))
LABELLED = [
    (f"{language}-{group}", kind)
    for language, groups in TEXTS.items()
    for group, kinds in groups.items()
    for kind in kinds
]


def test_says_that_it_does_not_know() -> None:
    told = detect_abstention("I don't know.")
    assert (told.abstained, told.kind) == (True, "abstained")


@pytest.mark.parametrize(("place", "kind"), LABELLED)
def test_every_labelled_text_is_read_as_its_kind(place: str, kind: str) -> None:
    language, _, group = place.partition("-")
    told = {text: detect_abstention(text) for text in TEXTS[language][group][kind]}
    assert {text: found.kind for text, found in told.items() if found.kind != kind} == {}
    assert all(found.abstained is (kind == "abstained") for found in told.values())


def test_every_language_has_texts_and_compiles() -> None:
    assert set(TEXTS) == set(LANGUAGES)
    for language in LANGUAGES:
        assert phrasebook(language).language == language
    assert set(data_versions()) == {f"{name}.toml" for name in (*LANGUAGES, "languages")}


@pytest.mark.parametrize(
    "text",
    ["", "   \n", "N/A", "~~~", "~~~~\n~~~", "[illegible]", "(unreadable)", "[inaudible]", "判読不能", "- - -", "…"],
)
def test_marks_of_nothing_abstain(text: str) -> None:
    assert detect_abstention(text).abstained is True


@pytest.mark.parametrize(
    "text", ["42", "Acme GmbH", "Yes.", "None.", "なし", "Paris", "12.5 %", "合同", "https://example.org/a", "👍 ok"]
)
def test_short_or_neutral_text_is_an_answer(text: str) -> None:
    assert detect_abstention(text).kind == "answered"


@pytest.mark.parametrize(
    "text",
    [
        "ไม่พบข้อมูลนี้ในเอกสาร",
        "המסמך אינו מציין את הסכום.",
        "Dokumentet säger inte vad avgiften är och det finns inget om den i avtalet för lägenheten.",
        "Jag vet inte.",
        "Hyresavtalet nämner inte hur hög depositionen är.",
        "Sözleşmede evcil hayvanlar hakkında bir hüküm yer almıyor.",
        "Belge bu konuda bir bilgi içermiyor ve ücret için olan bölüm de çok kısa değil.",
    ],
)
def test_a_language_without_patterns_is_unknown(text: str) -> None:
    told = detect_abstention(text)
    assert (told.abstained, told.kind) == (None, "unknown")
    assert told.language is not None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The rent is due on the first of the month."),
        ("de", "Die Miete ist am ersten Tag des Monats fällig."),
        ("zh", "合同生效。"),
        ("ja", "契約は有効です。"),
        ("ko", "계약은 유효합니다."),
    ],
)
def test_the_language_is_reported(language: str, text: str) -> None:
    assert detect_abstention(text).language == language


def test_the_cue_is_where_the_words_stand_in_the_text() -> None:
    text = "**Sorry** – the report does not specify the number."
    told = detect_abstention(text)
    assert text[told.cue_start : told.cue_end].endswith("does not specify")


def test_a_marker_or_a_named_source_within_a_phrase_changes_nothing() -> None:
    text = "The lease [1] does not mention a fee (source: lease.pdf, p. 3)."
    told = detect_abstention(text)
    assert (told.kind, text[told.cue_start : told.cue_end]) == ("abstained", "The lease [1] does not mention")


def test_a_label_and_a_list_of_sources_assert_nothing_and_what_follows_a_label_does() -> None:
    assert detect_abstention("**Rent amount:** Not specified.\n**Sources reviewed:** a.pdf, b.pdf").kind == "abstained"
    assert detect_abstention("Landlord: Harbour Estates\nDeposit: not stated").kind == "partial"


def test_a_concession_asserts_where_the_sentence_does_not_decline_or_where_it_holds_a_number() -> None:
    assert detect_abstention("Although the lease mentions a fee, it does not say how much.").kind == "abstained"
    assert detect_abstention("Although no date is given, the visit took place in spring.").kind == "answered"
    assert detect_abstention("Although the date is not stated, the visit took place in spring.").kind == "hedged"
    assert detect_abstention("Although revenue rose by 5 %, the report does not mention profit.").kind == "partial"


def test_a_refusal_that_goes_on_with_a_number_is_a_hedge_and_one_that_moralizes_is_none() -> None:
    assert detect_abstention("I can't disclose names, but 3 tenants have complained.").kind == "hedged"
    assert detect_abstention("I can't disclose names. Privacy is a right of every tenant.").kind == "refused"


def test_signs_that_can_answer_are_answers_and_punctuation_is_none() -> None:
    assert [detect_abstention(text).kind for text in ("✓", "👍", "∞", "+")] == ["answered"] * 4
    assert [detect_abstention(text).kind for text in ("?", "—", "{}", "“”")] == ["abstained"] * 4


def test_words_inside_a_quotation_are_not_the_answers_own() -> None:
    assert detect_abstention('The sign reads "I do not know" in red letters.').kind == "answered"


def test_a_suite_can_add_its_own_phrases() -> None:
    text = "Computer says no."
    assert detect_abstention(text).kind == "answered"
    assert detect_abstention(text, patterns=["computer says no"]).kind == "abstained"


def test_a_phrase_that_re2_cannot_run_is_refused() -> None:
    with pytest.raises(ValueError, match=r"patterns\[1\] cannot be used"):
        check_patterns(["fine", r"(?=no)"])


def test_a_flag_beside_a_neutral_text_is_believed() -> None:
    told = abstention_of(Output(answer="Please ask the front desk.", abstained=True))
    assert (told.abstained, told.signal, told.contradicted) == (True, "flag", False)


def test_a_flag_that_an_assertion_contradicts_is_not_believed() -> None:
    told = abstention_of(Output(answer="The deposit is 2,000 euros.", abstained=True))
    assert (told.abstained, told.kind, told.contradicted) == (False, "answered", True)


def test_a_flag_that_says_answered_beside_a_decline_is_not_believed() -> None:
    told = abstention_of(Output(answer="I don't know.", abstained=False))
    assert (told.abstained, told.contradicted) == (True, True)


def test_a_refusing_finish_reason_is_a_refusal_where_the_text_asserts_nothing() -> None:
    assert abstention_of(Output(answer="", finish_reason="content_filter")).kind == "refused"
    assert abstention_of(Output(answer="I'm sorry.", finish_reason="refusal")).kind == "refused"
    told = abstention_of(Output(answer="The deposit is 2,000 euros.", finish_reason="refusal"))
    assert (told.kind, told.contradicted) == ("answered", True)


def test_a_flag_is_believed_where_the_language_is_unknown() -> None:
    assert abstention_of(Output(answer="ไม่พบข้อมูลนี้ในเอกสาร", abstained=True)).abstained is True


@given(st.text(max_size=200))
def test_any_text_has_a_kind_and_offsets_inside_it(text: str) -> None:
    told = detect_abstention(text)
    assert told.abstained in {True, False, None}
    if told.cue_start is not None and told.cue_end is not None:
        assert 0 <= told.cue_start <= told.cue_end <= len(text)
    assert len(flatten(text)) == len(text)


@pytest.mark.parametrize(
    "unit",
    [
        "I do not ",
        "I don't know but ",
        "the the document ",
        "so, but, ",
        "a.",
        "~~~ ",
        "没有",
        "не в документе ",
        '"',
        "although, ",
        "I can't; ",
        "and the roof ",
        "Enthält keine ",
    ],
)
def test_time_grows_in_proportion_to_the_text(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        start = time.process_time()
        detect_abstention(text)
        return time.process_time() - start

    detect_abstention(unit * 10)
    # 100 times the text may take at most 100 times as long, with a generous factor of 3 for noise and caches.
    assert seconds(1_000_000) < 300 * max(seconds(10_000), 0.004)


def test_what_stands_after_the_first_two_hundred_thousand_characters_is_not_read() -> None:
    padding = "word " * 40_000
    assert len(padding) == 200_000
    assert detect_abstention(f"{padding[:-40]}. I don't know.").kind == "partial"
    assert detect_abstention(f"{padding}. I don't know.").kind == "answered"
