import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.report.visible import visible


def test_a_name_stays_as_it_is_and_what_is_not_seen_is_written_as_escapes():
    assert visible("Mieter § 5 – „ja“") == "Mieter § 5 – „ja“"
    assert visible("a\u202eb\tc\x1b[2J\ufeff") == "a\\u202eb\\tc\\x1b[2J\\ufeff"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_no_text_goes_on_on_a_line_of_its_own(end):
    assert len(visible(f"a{end}gate: PASS").splitlines()) == 1


@given(st.text())
def test_whatever_a_text_holds_it_can_be_printed_on_one_line(text):
    shown = visible(text + "\ud800")

    assert len(shown.splitlines()) == 1
    shown.encode()
