"""The cues by which most sentences are told to decline nothing: no phrase can match without one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from re import _parser  # type: ignore[attr-defined]  # the only reader of patterns that comes with Python
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence.text import sentences
from spancheck_pipeline.grading import phrasebook as phrasebook_module
from spancheck_pipeline.grading.abstention import _read, detect_abstention
from spancheck_pipeline.grading.cues import CUES, Cues
from spancheck_pipeline.grading.language import data_file, flatten
from spancheck_pipeline.grading.phrasebook import phrasebook

UNKNOWN = "\0"
"""Stands for a character of a class, which may be any."""


def test_a_plain_statement_holds_no_cue_and_one_that_declines_does() -> None:
    book = phrasebook("en")
    assert not book.may_decline("the tenant pays the rent on the first of march.")
    assert book.may_decline("the lease does not say when the rent is due.")


def test_a_sentence_that_declines_after_plain_ones_is_found() -> None:
    told = detect_abstention("The rent is 900 euros. It is paid monthly. The lease does not specify the deposit.")
    assert told.kind == "partial"
    assert told.cue_start == 43


PIECES = st.sampled_from(
    ["I cannot say", "The rent is 900 euros", "The lease does not specify it", "However", "so it is free",
     "and we pay", "It is unclear", "Hello", "because it is late", "please ask", "It is unethical", ". ", ", ",
     "? ", "\n\n", " "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
def test_sentences_without_a_cue_that_are_passed_over_change_nothing(text: str) -> None:
    book = phrasebook("en")
    flat = flatten(text)
    quick = _read(text, flat, sentences(text), book, patterns=(), is_alone=True)
    in_full = _read(text, flat, sentences(text), replace(book, cue=None), patterns=(), is_alone=False)
    assert quick.abstention("en") == in_full.abstention("en")


class Walk:
    """Every way through a pattern, as the parts of a word that it may have come to without meeting a cue."""

    def __init__(self, cues: Cues) -> None:
        parts = "|".join(map(re.escape, cues.parts))
        self.cue = re.compile(rf"\A(?:{'|'.join(map(re.escape, cues.beginnings))})|{parts}")
        self.words = frozenset(cues.words)

    def cueless(self, pattern: str) -> set[str]:
        return self.ended(self.through(_parser.parse(pattern), {""}))

    def ended(self, words: Iterable[str]) -> set[str]:
        return {word for word in words if word not in self.words}

    def literal(self, char: str, words: set[str]) -> set[str]:
        if not char.isalnum() and char != "'":
            return {"" for _ in self.ended(words)}
        return {word + char for word in words if not self.cue.search(word + char)}

    def through(self, nodes: Any, words: set[str]) -> set[str]:
        for operation, argument in nodes:
            words = self.node(str(operation), argument, words)
        return words

    def node(self, operation: str, argument: Any, words: set[str]) -> set[str]:
        match operation:
            case "LITERAL":
                return self.literal(chr(argument), words)
            case "IN":
                return self.one_of([(str(kind), value) for kind, value in argument], words)
            case "BRANCH":
                return set().union(*(self.through(branch, words) for branch in argument[1]))
            case "SUBPATTERN":
                return self.through(argument[3], words)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self.repeated(*argument, words)
            case "AT":
                return words
        raise AssertionError(f"the walk does not know {operation}")

    def one_of(self, kinds: list[tuple[str, Any]], words: set[str]) -> set[str]:
        if all(kind == "LITERAL" for kind, _ in kinds):
            return set().union(*(self.literal(chr(value), words) for _, value in kinds))
        if all(kind == "CATEGORY" and str(value) == "CATEGORY_SPACE" for kind, value in kinds):
            return self.literal(" ", words)
        return {word.rstrip(UNKNOWN) + UNKNOWN for word in words}

    def repeated(self, least: int, most: int, inside: Any, words: set[str]) -> set[str]:
        reached = set(words) if least == 0 else set()
        for turn in range(1, min(int(most), 20) + 1):
            words = self.through(inside, words)
            if turn >= least:
                if words <= reached:
                    break
                reached |= words
        return reached


@pytest.mark.parametrize("language", sorted(CUES))
def test_no_phrase_that_declines_or_refuses_can_match_without_a_cue(language: str) -> None:
    data = data_file(language)
    words = {name: phrasebook_module._either(items) for name, items in data.get("words", {}).items()}
    walk = Walk(CUES[language])
    phrases = [item for table in ("decline", "refuse") for items in data.get(table, {}).values() for item in items]
    assert len(phrases) > 50
    assert [phrase for phrase in phrases if walk.cueless(phrasebook_module._filled(phrase, words))] == []


@pytest.mark.parametrize("language", sorted(CUES))
def test_the_walk_misses_a_cue_that_is_taken_away(language: str) -> None:
    cues = CUES[language]
    fewer = cues._replace(beginnings=tuple(item for item in cues.beginnings if item != "no"))
    assert Walk(fewer).cueless("does not say")
    assert not Walk(cues).cueless("does not say")
