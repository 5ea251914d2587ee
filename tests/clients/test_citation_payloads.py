"""``target.citations``: a target's payload becomes the output, and the run says whose it was."""

from __future__ import annotations

import asyncio
import json
import typing

import pytest
from recorded_payloads import ANTHROPIC, AZURE, BY_PRODUCER, GEMINI, LEASE, PERPLEXITY

from spancheck_pipeline.clients.answer import output_of
from spancheck_pipeline.clients.call_errors import InvalidOutputError, failure_of
from spancheck_pipeline.clients.target import load_callable, load_target
from spancheck_pipeline.decision.suite_target import Citations, Target
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.payloads import PRODUCERS

CASE = Case("q1", "What is the notice period?")


def ask(target):
    async def once():
        try:
            return await target.call(CASE, 0)
        finally:
            await target.close()

    return asyncio.run(once())


def test_a_payload_that_a_target_returns_is_read_and_kept():
    output = ask(load_callable(lambda question: ANTHROPIC))
    assert output.answer == "In short: Notice is 30 days."
    assert output.citations[0].quote == "The notice period is 30 days."
    assert output.versions == {"citation_payload": "anthropic"}
    assert output.raw == ANTHROPIC


def test_the_passages_that_a_system_gave_its_model_go_beside_the_payload():
    contexts = [{"source_id": "lease", "text": LEASE}, "annex", "block"]
    output = ask(load_callable(lambda question: {"response": ANTHROPIC, "contexts": contexts}))
    assert (output.citations[0].source_id, output.citations[0].source_start) == ("lease", 108)


def test_every_producer_can_be_named_in_a_suite():
    assert {*PRODUCERS, "auto", "markers", "markers_from_zero", "none"} == set(typing.get_args(Citations))
    for name, payload in BY_PRODUCER.items():
        assert output_of(payload, citations=name).versions == {"citation_payload": name}


def test_none_reads_the_answer_and_drops_the_citations():
    for payload in BY_PRODUCER.values():
        output = output_of(payload, citations="none")
        assert output.answer
        assert output.citations == ()


def test_a_file_of_recorded_payloads_is_a_target(tmp_path):
    lines = [{"case_id": "q1", "response": GEMINI}, {"case_id": "q2", "answer": "x", "response": "y"}]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    target = load_target(Target(recorded="answers.jsonl"), suite_folder=tmp_path)
    assert len(ask(target).citations) == 2
    columns = {"file": "answers.jsonl", "columns": {"response": "response"}}
    assert len(ask(load_target(Target(recorded=columns, citations="gemini"), suite_folder=tmp_path)).citations) == 2


def test_ambiguity_is_an_error_class_of_its_own_that_names_the_candidates():
    both = {**AZURE, "citations": PERPLEXITY["citations"]}
    with pytest.raises(InvalidOutputError) as failed:
        output_of(both, citations="auto")
    failure = failure_of(failed.value)
    assert failure.error_class == "AmbiguousOutputError"
    assert "azure_on_your_data or perplexity" in failure.message
    assert output_of(both, citations="azure_on_your_data").citations


def test_another_producers_payload_or_a_plain_answer_is_not_guessed_at():
    for value in (ANTHROPIC, {"answer": "30 days"}, "30 days"):
        with pytest.raises(InvalidOutputError):
            output_of(value, citations="gemini")


def test_a_plain_output_is_read_as_before():
    output = output_of({"answer": "30 days [1]", "contexts": ["30 days"], "choices": "mine"}, citations="auto")
    assert output.versions == {}
    assert output.raw == {"choices": "mine"}
    assert output_of("30 days", citations="auto").answer == "30 days"
