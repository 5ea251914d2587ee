"""The packet: which claim with which evidence a judge is shown, and that the same one has the same digest."""

from __future__ import annotations

import inspect
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence import packet as packets
from spancheck_pipeline.evidence.case import Criterion
from spancheck_pipeline.evidence.packet import (
    MOST_CHARS,
    Packet,
    answer_packet,
    entailment_packet,
    evidence_around,
    faithful_packet,
    sentence_packet,
)
from spancheck_pipeline.evidence.text import Span

LEASE = "The lease begins in May. Notice is 30 days. It does not renew."


def test_a_citation_is_shown_with_the_sentence_around_its_quote() -> None:
    start = LEASE.index("30 days")
    made = entailment_packet(" Notice is 30 days. ", evidence_around(LEASE, Span(start, start + 7)))
    assert made == Packet("entailment", "Notice is 30 days.", ("Notice is 30 days.",))


@pytest.mark.parametrize(
    ("quote", "around"),
    [
        ("renew", "It does not renew."),
        ("May. Notice", "The lease begins in May. Notice is 30 days."),
        (None, LEASE),
    ],
)
def test_the_evidence_is_every_sentence_that_a_quote_touches_or_the_whole_passage(
    quote: str | None, around: str
) -> None:
    start = LEASE.index(quote) if quote else 0
    assert evidence_around(LEASE, Span(start, start + len(quote)) if quote else None) == around


@given(st.text(max_size=60), st.data())
def test_the_evidence_around_a_range_holds_the_range(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    around = evidence_around(text, Span(start, end))
    assert text[start:end] in around
    assert around in text


def test_a_sentence_is_shown_without_markers_and_its_number_with_every_passage_once() -> None:
    made = sentence_packet(" 2. Notice is 30 days [1], as agreed [2].", ["One.", "", "Two.", " One. "])
    assert made == Packet("groundedness", "Notice is 30 days, as agreed.", ("One.", "Two."))


def test_a_whole_answer_is_shown_without_markers() -> None:
    made = answer_packet("Notice is 30 days [1]. It ends in May [2].", ["p"])
    assert (made.kind, made.claim, made.answer) == ("entailment", "Notice is 30 days. It ends in May.", None)


@pytest.mark.parametrize(
    ("target", "claim"),
    [
        ({"statement": " The rent is right. "}, "The rent is right."),
        ({"claim": "The rent is right."}, "The rent is right."),
        ({}, "Everything that the answer asserts stands in the passages."),
    ],
)
def test_a_criterion_of_one_text_says_that_text_and_none_means_the_answer_as_a_whole(
    target: dict[str, str], claim: str
) -> None:
    criterion = Criterion(id="c", type="faithful", target=dict(target), comment="for people")
    made = faithful_packet(criterion, " The rent is 5. ", ["p", " "])
    assert made == Packet("faithful", claim, ("p",), "The rent is 5.")


def test_a_criterion_of_several_fields_says_their_json() -> None:
    target = {"rent": 5, "names": ["Müller"]}
    made = faithful_packet(Criterion(id="c", type="faithful", target=target), "a", [])
    assert json.loads(made.claim) == target
    assert "Müller" in made.claim


def test_a_packet_has_the_same_digest_wherever_it_is_made_and_another_when_anything_in_it_is() -> None:
    # SHA-256 of {"answer":null,"claim":"c","evidence":["e"],"kind":"entailment","version":1}
    one = entailment_packet("c", "e")
    assert one.digest == "e98850ffb1b819d952b25382e05232ab3a8101ca30149240b23c898d2e0d4058"
    others = [
        entailment_packet("d", "e"), entailment_packet("c", ["e", "f"]), Packet("groundedness", "c", ("e",)),
        Packet("entailment", "c", ("e",), ""), Packet("entailment", "c", ("e",), version=2),
    ]  # fmt: skip
    assert len({one.digest, *(other.digest for other in others)}) == 6


def test_more_than_a_judge_is_shown_is_too_long() -> None:
    assert not entailment_packet("c" * (MOST_CHARS - 1), "e").is_too_long
    assert entailment_packet("c" * MOST_CHARS, "e").is_too_long


def test_nothing_that_makes_a_packet_takes_a_case_an_input_or_a_history() -> None:
    makers = [fn for name, fn in inspect.getmembers(packets, inspect.isfunction) if fn.__module__ == packets.__name__]
    taken = {name for maker in makers for name in inspect.signature(maker).parameters}
    assert taken.isdisjoint({"case", "input", "question", "history", "evidence_of", "row", "output"})
    assert set(Packet.__dataclass_fields__) == {"kind", "claim", "evidence", "answer", "version"}
