"""The extra ``presidio``: what it adds to no_pii, and what it is not asked for. Nothing is fetched."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from scenario import Project

pytest.importorskip("presidio_analyzer", reason="the extra 'presidio' is not installed")

from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.presidio import KINDS, LEFT_OUT, PresidioDetector
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.grading.grader import spec_of
from spancheck_pipeline.storage.datasets import load_suite

BITCOIN = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"


def found(detector: PresidioDetector, text: str) -> list[tuple[str, str]]:
    return [(kind, text[start:end]) for kind, start, end in detector(text)]


def test_kinds_that_the_grader_does_not_know_are_found_and_those_that_it_knows_are_left_to_it() -> None:
    detector = PresidioDetector()
    assert found(detector, f"Pay to {BITCOIN}, from 00:1B:44:11:3A:B7.") == [
        ("crypto", BITCOIN),
        ("mac_address", "00:1B:44:11:3A:B7"),
    ]
    assert detector("Order 4155552671 of 3 May 2020, see https://example.org") == []
    assert not set(detector.entities) & {*LEFT_OUT, *KINDS}


def test_a_word_of_context_counts_without_a_language_model() -> None:
    detector = PresidioDetector(entities=("US_BANK_NUMBER",), threshold=0.4)
    assert found(detector, "My bank account is 945456787654") == [("us_bank_number", "945456787654")]
    assert detector("Part 945456787654") == []


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("no connection is made")

    monkeypatch.setattr(socket.socket, "connect", refused)
    detector = PresidioDetector(entities=("EMAIL_ADDRESS",))
    assert found(detector, "Write to jane.roe@example.org.") == [("email", "jane.roe@example.org")]


def test_places_hold_in_texts_that_are_read_in_pieces() -> None:
    text = ("word " * 3000) + BITCOIN + (" word" * 3000)
    assert found(PresidioDetector(), text) == [("crypto", BITCOIN)]


def test_time_grows_in_proportion_to_the_text() -> None:
    detector = PresidioDetector()

    def seconds(length: int) -> float:
        text = ("ssn 078-05-1120 " * (length // 16 + 1))[:length]
        start = time.process_time()
        detector(text)
        return time.process_time() - start

    seconds(1000)
    # 10 times the text may take at most 10 times as long, with a generous factor of 5 for noise.
    assert seconds(100_000) < 50 * max(seconds(10_000), 0.01)


def test_a_suite_names_it_in_a_word_and_its_versions_stand_in_the_spec(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write_suite(graders=", private: {use: no_pii, detector: presidio}")
    loaded = load_suite(tmp_path / "datasets", "small", load_attribute)
    grader = next(grader for grader in loaded.graders if grader.name == "private")
    settings = spec_of(grader).as_dict()["settings"]["detector"]
    assert settings["nlp"] == "none" or settings["nlp"].startswith("en_core_")
    assert settings["library"][0].isdigit()
    assert any(recognizer.startswith("CryptoRecognizer ") for recognizer in settings["recognizers"])


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no entity 'PASSWORD'"):
        PresidioDetector(entities=("PASSWORD",))
    with pytest.raises(UsageError, match="'xx_none' is not installed"):
        PresidioDetector(model="xx_none")
