"""A key in a reply: found in every spelling that JSON has, and nothing else touched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.clients.judge_secret import NO_SECRET, Secret

KEY = 'sk-a.b+c/"d"\\n9'
"""With characters that mean something to JSON and to a regular expression."""


def test_a_key_is_masked_and_the_rest_of_a_text_stays():
    assert Secret("sk-123").masked("Your key sk-123 (sk-1234) is no sk-12.") == "Your key *** (***4) is no sk-12."


@given(st.text(max_size=20), st.text(max_size=20), st.integers(0, 3))
def test_a_key_is_found_however_deep_json_quotes_it(before, after, depth):
    text = f"{before} {KEY} {after}"
    for _ in range(depth):
        text = json.dumps(text)
    assert Secret(KEY).is_in(text)
    for _ in range(depth):
        text = json.loads(text)
    assert KEY not in Secret(KEY).masked(text)


def test_a_key_in_unicode_escapes_is_found():
    escaped = "".join(f"\\u{ord(character):04X}" for character in KEY)
    assert Secret(KEY).masked(f"x{escaped}y") == "x***y"
    assert Secret(KEY).masked(f"x{escaped.replace(chr(92), chr(92) * 2)}y") == "x***y"


@pytest.mark.parametrize("text", ["\\" * 1_000_000, "s\\" * 500_000, "sk-12" * 200_000])
def test_a_hostile_text_costs_no_more_than_its_length(text):
    assert Secret("sk-123").masked(text) == text


@pytest.mark.parametrize("secret", [NO_SECRET, Secret(None), Secret(""), Secret("abc")])
def test_without_a_key_that_protects_anything_no_word_is_torn(secret):
    assert secret.masked("abc is said") == "abc is said"
    assert not secret.is_in("abc")
    assert not Secret("sk-123").is_in(None)
