"""Personal data: what is found in a labelled set of texts, what is left alone, and in what time."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.grading.pii import KINDS, Pii, data_versions, find_pii

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "pii_texts.jsonl").read_text("utf-8").splitlines()
]
POSITIVE = [row for row in ROWS if row["found"]]
NEGATIVE = [row for row in ROWS if not row["found"]]


def test_finds_an_address_and_says_where() -> None:
    assert find_pii("Write to jane@example.org.") == (Pii("email", 9, 25),)


def test_the_labelled_set_is_wide_enough_to_mean_something() -> None:
    kinds = {kind for row in POSITIVE for _, _, kind in row["found"]}
    templates = Counter(row["template"] for row in ROWS)
    assert len(POSITIVE) >= 200
    assert len(NEGATIVE) >= 300
    assert len(kinds) >= 15
    assert kinds <= KINDS
    assert max(templates.values()) <= len(ROWS) * 0.05


def test_every_kind_is_found_where_it_stands_and_as_what_it_is() -> None:
    missed = defaultdict(list)
    for row in POSITIVE:
        if [list(item) for item in ((p.start, p.end, p.kind) for p in find_pii(row["text"]))] != row["found"]:
            missed[row["found"][0][2]].append(row["text"])
    assert missed == {}


def test_hard_negatives_are_left_alone() -> None:
    assert [row["text"] for row in NEGATIVE if find_pii(row["text"])] == []


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Order 4155552671, call 415-555-2671", ["phone"]),
        ("Phone for order 17: 415-555-2671", []),
        ("a@b", []),
        ("jane@example.org, john@example.org", ["email", "email"]),
        ("SSN 000-12-3456", []),
        ("GB82 WEST 1234 5698 7654 32 AND MORE", ["iban"]),
        ("GB82 WEST 1234 5698 7654 33", []),
        ("4111 1111 1111 1112", []),
        ("+49 000 000", []),
        ("300.300.300.300", []),
        ("In this case please write to +49 30 901820", ["phone"]),
        ("", []),
    ],
)
def test_check_digits_and_the_nearest_word_decide(text: str, kinds: list[str]) -> None:
    assert [item.kind for item in find_pii(text)] == kinds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("A Doberman 12, 1990 in Kent", []),
        ("DOB 12.03.1990", ["date_of_birth"]),
        ("adob 12.03.1990", []),
        ("ungeboren am 3. Mai 1980", []),
        ("彼の生年月日は1990年1月2日", ["date_of_birth"]),
        ("compassport 912803456", []),
        ("我的护照号码912803456", ["passport"]),
        ("Kids revive en 12 calle Mayor", []),
        ("Ana vive en 12 calle Mayor", ["home_address"]),
        ("我的身份证号码是11010519491231002X", ["cn_ric"]),
    ],
)
def test_a_cue_is_a_word_of_its_own_but_in_scripts_without_spaces(text: str, kinds: list[str]) -> None:
    assert [item.kind for item in find_pii(text)] == kinds


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("+49\u00a030\u2011901820", "phone"),
        ("+４９ ３０ ９０１８２０", "phone"),
        ("هاتف +٩٦٦ ١١ ٤٦٤ ٤٤٤٤", "phone"),
        ("IBAN DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000", "iban"),
        ("4111\u202f1111\u202f1111\u202f1111", "payment_card"),
        ("SSN 536\u201390\u20134399", "us_ssn"),
        ("jane.roe＠corp．com", "email"),
        ("jane\u200b.roe@cor\u00adp.com", "email"),
    ],
)
def test_signs_that_look_the_same_are_the_same(text: str, kind: str) -> None:
    assert [item.kind for item in find_pii(text)] == [kind]


@given(st.sampled_from(POSITIVE), st.data())
def test_characters_that_do_not_show_hide_nothing_and_move_no_find(row: dict[str, Any], data: st.DataObject) -> None:
    text = row["text"]
    at = data.draw(st.integers(0, len(text)))
    unseen = data.draw(st.text(alphabet="\u200b\u00ad\u2060", min_size=1, max_size=3))
    hidden = text[:at] + unseen + text[at:]
    moved = [(item.kind, hidden[item.start : item.end]) for item in find_pii(hidden)]
    plain = [(item.kind, text[item.start : item.end]) for item in find_pii(text)]
    assert [(kind, "".join(c for c in value if c not in unseen)) for kind, value in moved] == plain
    assert [value[0] in unseen or value[-1] in unseen for _, value in moved] == [False] * len(moved)


@pytest.mark.parametrize(
    "text",
    [
        "She was born on the 4th of July 1962.", "Patient (born 04/07/1962)", "née le 12 mars 1985", "D.O.B. 12.03.85",
        "Fecha de nacimiento: 12 de marzo de 1985", '{"date_of_birth": "1985-03-12"}', "dateOfBirth: 1985-03-12",
        "Birthday: July 4th, 1962", "nata il 12/03/1985", "nascido em 04/07/1962", "родился 04.07.1962",
        "geb. 04.07.1962",
    ],
)  # fmt: skip
def test_a_day_of_birth_is_announced_in_many_words(text: str) -> None:
    assert [item.kind for item in find_pii(text)] == ["date_of_birth"]


@pytest.mark.parametrize(
    "text",
    [
        "Mozart was born on 27 January 1756.", "Bach, geboren am 31. März 1685", "Born in 1985, it split in 1999.",
        "airborne on 12 March 1985", "Robert 12/03/1985", "Date of birth format: YYYY-MM-DD",
    ],
)  # fmt: skip
def test_a_day_of_history_or_without_its_word_is_no_birthday_of_anybody(text: str) -> None:
    assert find_pii(text) == ()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Email: jane dot roe at corp dot com", ["email"]),
        ("You can mail jane.roe at corp dot co dot uk.", ["email"]),
        ("Visit us at example dot com", []),
        ("Mail us at corp dot com", []),
        ("She looked at point dot org", []),
        ("0044 20 7946 0958", ["phone"]),
        ("0012 3456 7890 is the batch code", []),
        ("Part 0044 20 7946 0958", []),
        ("Fon 001 268-460-1234", ["phone"]),
        ("Τηλ. 210 361 2345", ["phone"]),
        ("policy number AB276843C", []),
        ("NI number AB276843C", ["gb_nino"]),
        ("file number 057-73-1063", []),
        ("tax file number 123 456 782", ["au_tfn"]),
        ("Tél : 01 42 68 53 00", ["phone"]),
        ("fax 1990-2010", []),
        ("tel aviv 2024 12 31 00", []),
        ("SIN 123-456-782", ["ca_sin"]),
        ("sin: 123-456-782", ["ca_sin"]),
        ("un total sin IVA de 123 456 782", []),
        ("RUN 12531909-2", ["cl_rut"]),
        ("run 12531909-2 completed", []),
        ("NISS 85 07 30 033 28", ["be_nn"]),
        ("DNI 54.362.315-K", ["es_dni"]),
        ("Reisepass-Nr. C01X00T47", ["passport"]),
        ("passport_number: X12345678", ["passport"]),
        ("Passeport n° 12AB34567", ["passport"]),
        ("home address validation requires 2 street lines", []),
        ("abita in Via Roma 12, Milano", ["home_address"]),
        ("2001:4860:4860::8888", ["ip_address"]),
        ("ff02::1, ::ffff:10.0.0.1 and 1:2:3:4:5:6:7:8", []),
    ],
)
def test_spelled_out_signs_words_of_languages_and_given_addresses_are_told_apart(text: str, kinds: list[str]) -> None:
    assert [item.kind for item in find_pii(text)] == kinds


def test_the_number_plans_are_part_of_the_spec() -> None:
    assert set(data_versions()) == {"pii_cues.toml", "pii_kinds.toml", "phonenumbers", "python-stdnum"}


def test_numbers_of_goods_and_documents_raise_no_alarm_whatever_their_digits() -> None:
    digits = random.Random(7)
    shapes = (Path(__file__).parent / "pii_look_alikes.txt").read_text("utf-8").splitlines()
    texts = [re.sub("#", lambda _: str(digits.randrange(10)), shape) for shape in shapes for _ in range(10)]
    assert len(texts) > 1_000
    assert [text for text in texts if find_pii(text)] == []


@given(st.text(alphabet="+0123456789 .-@aDE()/:年", max_size=120))
def test_finds_are_in_order_and_apart_and_inside_the_text(text: str) -> None:
    at = 0
    for item in find_pii(text):
        assert at <= item.start < item.end <= len(text)
        at = item.end


@pytest.mark.parametrize(
    "unit",
    ["1 ", "a@", "DE89 ", "1.1.1.", "::", "tel 0151 234 56 ", "ssn 123-45-", "lives at 1 ", "e-mail a dot ", "1\u200b"],
)
def test_time_grows_in_proportion_to_the_text(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        start = time.process_time()
        find_pii(text)
        return time.process_time() - start

    find_pii(unit)
    # 100 times the text may take at most 100 times as long, with a generous factor of 3 for noise.
    assert seconds(1_000_000) < 300 * max(seconds(10_000), 0.004)
