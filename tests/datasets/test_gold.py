"""The gold set that is shipped: large enough, of every stratum, and not a few templates over and over."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from spancheck_pipeline.storage.gold_files import gold_files, read_gold

DATASETS = Path(__file__).parents[2] / "datasets"
GOLD = read_gold(DATASETS / "gold" / "support.jsonl")
STRATA = set(
    "exact paraphrase number negation entity date omission plausible unrelated multi_sentence".split()  # noqa: SIM905 - a list of words
)
FUNCTION_WORDS = set(
    "a an and are as at be been but by can does for from had has have if in is it its more no not of on only or than "  # noqa: SIM905 - as above
    "that the their them they this those to was were which who will with".split()
)


def shape(claim: str) -> str:
    """Return a claim with every content word as W and every number as N: what a template would leave standing."""
    words = re.findall(r"\d[\d.,:]*|\w+", claim.lower())
    marks = ["N" if word[0].isdigit() else word if word in FUNCTION_WORDS else "W" for word in words]
    return re.sub(r"\bW(?: W)+\b", "W", " ".join(marks))


def test_the_set_is_large_and_has_every_stratum_and_both_labels():
    assert gold_files(DATASETS) == (DATASETS / "gold" / "support.jsonl",)
    assert len(GOLD.items) >= 200
    assert Counter(item.stratum for item in GOLD.items).keys() == STRATA
    assert min(Counter(item.stratum for item in GOLD.items).values()) >= 20
    n_supported = sum(item.label for item in GOLD.items)
    assert 100 <= n_supported <= len(GOLD.items) - 100
    assert GOLD.policy
    assert (GOLD.domain, GOLD.sampling) == ("general", "stress")


def test_strata_have_both_labels_except_where_their_nature_forbids_it():
    both = {stratum for stratum in STRATA if len({i.label for i in GOLD.items if i.stratum == stratum}) == 2}
    assert both == STRATA - {"plausible", "unrelated"}


def test_no_claim_and_no_passage_stands_twice():
    claims = [" ".join(re.findall(r"\w+", item.claim.lower())) for item in GOLD.items]
    assert [claim for claim, n in Counter(claims).items() if n > 1] == []
    by_passage: dict[tuple[str, ...], set[str | None]] = {}
    for item in GOLD.items:
        by_passage.setdefault(item.evidence, set()).add(item.group)
    assert all(len(groups) == 1 for groups in by_passage.values())
    assert len(by_passage) == len({item.group for item in GOLD.items}) >= 100


def test_a_template_would_be_seen():
    assert shape("The capital of France is Paris.") == shape("The capital of Outer Mongolia is Ulan Bator!")
    assert shape("It has 3 cats.") == shape("It has 14.5 red dogs") != shape("It has cats")


@pytest.mark.parametrize("part", ["shape", "first three words", "last two words"])
def test_no_template_is_behind_more_than_a_twentieth_of_the_claims(part):
    def of(claim: str) -> str:
        words = re.findall(r"\w+", claim.lower())
        return {"shape": shape(claim), "first three words": " ".join(words[:3])}.get(part, " ".join(words[-2:]))

    _, most = Counter(of(item.claim) for item in GOLD.items).most_common(1)[0]
    assert most <= len(GOLD.items) / 20


def test_passages_share_no_long_run_of_words():
    """Eight words in a row that stand in two passages would be a template behind them."""
    runs: dict[tuple[str, ...], set[str | None]] = {}
    for item in GOLD.items:
        words = re.findall(r"\w+", " ".join(item.evidence).lower())
        for start in range(len(words) - 7):
            runs.setdefault(tuple(words[start : start + 8]), set()).add(item.group)
    assert not any(len(groups) > 1 for groups in runs.values())


def test_what_is_called_exact_repeats_words_of_its_evidence():
    for item in GOLD.items:
        if item.stratum == "exact":
            words = re.findall(r"\w+", item.claim.lower())
            told = set(re.findall(r"\w+", " ".join(item.evidence).lower()))
            assert sum(word in told for word in words) >= 0.6 * len(words), item.id
