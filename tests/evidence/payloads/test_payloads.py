"""Each producer's recorded payload, and the exact output that is read from it."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic import BaseModel
from recorded_payloads import (
    ANTHROPIC,
    AZURE,
    BEDROCK_CONVERSE,
    BEDROCK_RAG,
    BY_PRODUCER,
    COHERE,
    GEMINI,
    LANGCHAIN,
    LEASE,
    LLAMAINDEX_BLOCKS,
    LLAMAINDEX_QUERY,
    OPENAI_ASSISTANTS,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    PASSAGE,
    PERPLEXITY,
)

from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.evidence.payloads import AmbiguousPayloadError, PayloadError, detect, read_payload
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.grading.graders.citation_accuracy import verify_citation


def read(payload: Any, producer: str = "auto") -> Output:
    output = read_payload(payload, producer)
    assert output is not None
    return output


def canonical(output: Output) -> dict[str, Any]:
    """Return an output without its payload and without what is not set."""
    return output.model_dump(exclude={"raw"}, exclude_defaults=True)


def changed(payload: Any, path: str, value: Any) -> Any:
    """Return a copy of a payload with the value at a dotted path replaced, or taken out where it is ``...``."""
    payload = copy.deepcopy(payload)
    at = payload
    *parts, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parts:
        at = at[part]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return payload


def provenance(output: Output, index: int = 0) -> str:
    return verify_citation(output.citations[index], output.contexts, output.answer).provenance.value


def test_anthropic_text_blocks_are_claims_and_their_sources_come_without_text() -> None:
    assert canonical(read(ANTHROPIC)) == snapshot(
        {
            "answer": "In short: Notice is 30 days.",
            "contexts": (
                {"source_id": "document:0", "title": "Lease"},
                {"source_id": "document:1", "title": "Annex"},
                {"source_id": "document:2"},
                {"source_id": "kb://hr/12", "title": "HR 12"},
                {"source_id": "https://ex.org/a", "uri": "https://ex.org/a", "title": "A"},
            ),
            "citations": (
                {
                    "claim": "Notice is 30 days.",
                    "quote": "The notice period is 30 days.",
                    "source_id": "document:0",
                    "answer_start": 10,
                    "answer_end": 28,
                    "source_start": 108,
                    "source_end": 137,
                },
                {
                    "claim": "Notice is 30 days.",
                    "quote": "Thirty days' notice is given in writing.",
                    "source_id": "document:1",
                    "answer_start": 10,
                    "answer_end": 28,
                },
                {
                    "claim": "Notice is 30 days.",
                    "quote": "A block about notice.",
                    "source_id": "document:2",
                    "answer_start": 10,
                    "answer_end": 28,
                },
                {
                    "claim": "Notice is 30 days.",
                    "quote": "HR says 30 days.",
                    "source_id": "kb://hr/12",
                    "answer_start": 10,
                    "answer_end": 28,
                },
                {
                    "claim": "Notice is 30 days.",
                    "quote": "Thirty days is usual.",
                    "source_id": "https://ex.org/a",
                    "answer_start": 10,
                    "answer_end": 28,
                },
            ),
            "usage": {"input_tokens": 420, "output_tokens": 12, "cached_input_tokens": 300},
            "finish_reason": "end_turn",
            "served_model": "claude-sonnet-5",
            "versions": {"citation_payload": "anthropic"},
        }
    )


def test_openai_responses_file_citations_are_for_the_sentence_before_their_index() -> None:
    assert canonical(read(OPENAI_RESPONSES)) == snapshot(
        {
            "answer": "Notice is 30 days. Rent is monthly.",
            "contexts": (
                {"source_id": "file-1", "text": "The notice period is 30 days.", "title": "lease.pdf"},
                {"source_id": "file-1", "text": "Rent is due monthly.", "title": "lease.pdf"},
                {"source_id": "https://ex.org", "uri": "https://ex.org", "title": "Ex"},
                {"source_id": "file-9", "title": "t.csv"},
            ),
            "citations": (
                {"source_id": "file-1", "answer_start": 0, "answer_end": 18},
                {"source_id": "https://ex.org", "answer_start": 0, "answer_end": 18},
                {"source_id": "file-9", "answer_start": 19, "answer_end": 35},
            ),
            "usage": {"input_tokens": 50, "output_tokens": 20, "cached_input_tokens": 10, "reasoning_tokens": 8},
            "finish_reason": "completed",
            "served_model": "gpt-5.2",
            "versions": {"citation_payload": "openai_responses"},
        }
    )


def test_openai_chat_annotations_are_links_without_text() -> None:
    assert canonical(read(OPENAI_CHAT)) == snapshot(
        {
            "answer": "Notice is 30 days.",
            "contexts": ({"source_id": "https://ex.org", "uri": "https://ex.org", "title": "Ex"},),
            "citations": ({"source_id": "https://ex.org", "answer_start": 0, "answer_end": 18},),
            "usage": {"input_tokens": 9, "output_tokens": 5, "cached_input_tokens": 0},
            "finish_reason": "stop",
            "served_model": "gpt-4o-search-preview",
            "versions": {"citation_payload": "openai_chat"},
        }
    )


def test_openai_assistants_markers_are_for_their_sentence() -> None:
    assert canonical(read(OPENAI_ASSISTANTS)) == snapshot(
        {
            "answer": "Notice is 30 days【4:0†lease.pdf】. Rent is monthly.",
            "contexts": ({"source_id": "file-1"},),
            "citations": ({"source_id": "file-1", "answer_start": 0, "answer_end": 33},),
            "finish_reason": "completed",
            "versions": {"citation_payload": "openai_assistants"},
        }
    )


def test_cohere_citations_of_the_text_are_read_and_those_of_thinking_are_not() -> None:
    assert canonical(read(COHERE)) == snapshot(
        {
            "answer": "Notice is 30 days.",
            "contexts": (
                {"source_id": "doc:0", "text": "The notice period is 30 days.", "title": "Lease"},
                {"source_id": "t:0"},
            ),
            "citations": (
                {"claim": "30 days", "source_id": "doc:0", "answer_start": 10, "answer_end": 17},
                {"claim": "30 days", "source_id": "t:0", "answer_start": 10, "answer_end": 17},
            ),
            "usage": {"input_tokens": 90, "output_tokens": 7},
            "finish_reason": "COMPLETE",
            "versions": {"citation_payload": "cohere"},
        }
    )


def test_gemini_segments_are_counted_in_bytes_of_their_part() -> None:
    assert canonical(read(GEMINI)) == snapshot(
        {
            "answer": "Miete für 30 Tage 🏠. Notice is 30 days.",
            "contexts": (
                {"source_id": "https://ex.org/n", "uri": "https://ex.org/n", "title": "ex.org"},
                {
                    "source_id": "gs://b/lease",
                    "text": "The notice period is 30 days.",
                    "uri": "gs://b/lease",
                    "title": "lease",
                    "page": 3,
                },
            ),
            "citations": (
                {
                    "claim": "Miete für 30 Tage 🏠.",
                    "source_id": "https://ex.org/n",
                    "answer_start": 0,
                    "answer_end": 20,
                },
                {"claim": "Notice is 30 days.", "source_id": "gs://b/lease", "answer_start": 21, "answer_end": 39},
            ),
            "usage": {"input_tokens": 45, "output_tokens": 16, "cached_input_tokens": 8, "reasoning_tokens": 6},
            "finish_reason": "STOP",
            "served_model": "gemini-3-pro",
            "versions": {"citation_payload": "gemini"},
        }
    )


def test_bedrock_rag_spans_take_the_reading_that_their_text_confirms() -> None:
    assert canonical(read(BEDROCK_RAG)) == snapshot(
        {
            "answer": "Notice is 30 days. Rent is monthly.",
            "contexts": (
                {
                    "source_id": "s3://b/lease.pdf",
                    "text": "The notice period is 30 days.",
                    "uri": "s3://b/lease.pdf",
                    "page": 3,
                },
                {"source_id": "https://ex.org/plan.png", "uri": "https://ex.org/plan.png"},
            ),
            "citations": (
                {"claim": "Notice is 30 days.", "source_id": "s3://b/lease.pdf", "answer_start": 0, "answer_end": 18},
                {
                    "claim": "Notice is 30 days.",
                    "source_id": "https://ex.org/plan.png",
                    "answer_start": 0,
                    "answer_end": 18,
                },
            ),
            "versions": {"citation_payload": "bedrock_rag"},
        }
    )


def test_bedrock_converse_citation_blocks_are_claims() -> None:
    assert canonical(read(BEDROCK_CONVERSE)) == snapshot(
        {
            "answer": "In short: Notice is 30 days.",
            "contexts": (
                {"source_id": "lease", "title": "Lease"},
                {"source_id": "https://ex.org/a", "uri": "https://ex.org/a", "title": "A"},
            ),
            "citations": (
                {
                    "claim": "Notice is 30 days.",
                    "quote": "The notice period is 30 days.",
                    "source_id": "lease",
                    "answer_start": 10,
                    "answer_end": 28,
                    "source_start": 108,
                    "source_end": 137,
                },
                {
                    "claim": "Notice is 30 days.",
                    "quote": "Thirty days is usual.",
                    "source_id": "https://ex.org/a",
                    "answer_start": 10,
                    "answer_end": 28,
                },
            ),
            "usage": {"input_tokens": 50, "output_tokens": 8, "cached_input_tokens": 20},
            "latency_ms": 812.0,
            "finish_reason": "end_turn",
            "versions": {"citation_payload": "bedrock_converse"},
        }
    )


def test_azure_markers_count_the_citations_and_one_beyond_them_dangles() -> None:
    output = read(AZURE)
    assert canonical(output) == snapshot(
        {
            "answer": "Notice is 30 days [doc1]. Rent is monthly [doc3].",
            "contexts": (
                {"source_id": "lease.pdf", "text": "The notice period is 30 days.", "title": "Lease"},
                {"source_id": "lease.pdf#2", "text": "Other.", "title": "Lease"},
                {"source_id": "parking.pdf", "text": "Parking is free.", "title": "Parking"},
            ),
            "citations": (
                {"source_id": "lease.pdf", "answer_start": 0, "answer_end": 25},
                {"source_id": "doc3", "answer_start": 26, "answer_end": 49},
            ),
            "usage": {"input_tokens": 70, "output_tokens": 9},
            "finish_reason": "stop",
            "served_model": "gpt-4o",
            "versions": {"citation_payload": "azure_on_your_data"},
        }
    )
    assert [provenance(output, i) for i in range(2)] == ["passage", "dangling"]


def test_perplexity_markers_count_the_addresses_and_one_beyond_them_dangles() -> None:
    output = read(PERPLEXITY)
    assert canonical(output) == snapshot(
        {
            "answer": "Notice is 30 days[1][2]. Rent is due[7].",
            "contexts": (
                {"source_id": "https://a.example", "uri": "https://a.example", "title": "A"},
                {"source_id": "https://b.example", "uri": "https://b.example", "title": "B"},
            ),
            "citations": (
                {"source_id": "https://a.example", "answer_start": 0, "answer_end": 24},
                {"source_id": "https://b.example", "answer_start": 0, "answer_end": 24},
                {"source_id": "7", "answer_start": 25, "answer_end": 40},
            ),
            "usage": {"input_tokens": 6, "output_tokens": 11, "cost_usd": 0.006},
            "finish_reason": "stop",
            "served_model": "sonar-pro",
            "versions": {"citation_payload": "perplexity"},
        }
    )
    assert [provenance(output, i) for i in range(3)] == ["no_evidence_text", "no_evidence_text", "dangling"]


def test_langchain_annotations_hold_the_quote_and_its_place_in_the_answer() -> None:
    assert canonical(read(LANGCHAIN)) == snapshot(
        {
            "answer": "Notice is 30 days.",
            "contexts": ({"source_id": "https://ex.org", "uri": "https://ex.org", "title": "Ex"},),
            "citations": (
                {
                    "quote": "The notice period is 30 days.",
                    "source_id": "https://ex.org",
                    "answer_start": 0,
                    "answer_end": 18,
                },
            ),
            "usage": {"input_tokens": 12, "output_tokens": 4, "cached_input_tokens": 2, "reasoning_tokens": 1},
            "finish_reason": "stop",
            "served_model": "gpt-5.2",
            "versions": {"citation_payload": "langchain"},
        }
    )


def test_llamaindex_markers_count_the_source_nodes_whose_head_line_is_no_text() -> None:
    assert canonical(read(LLAMAINDEX_QUERY)) == snapshot(
        {
            "answer": "Notice is 30 days [1]. Rent is due [3].",
            "contexts": (
                {"source_id": "n1", "text": "The notice period is 30 days.\n", "title": "lease.pdf"},
                {"source_id": "n2", "text": "Rent is due monthly."},
            ),
            "citations": (
                {"source_id": "n1", "answer_start": 0, "answer_end": 22},
                {"source_id": "3", "answer_start": 23, "answer_end": 39},
            ),
            "versions": {"citation_payload": "llamaindex"},
        }
    )


def test_llamaindex_citation_blocks_are_for_the_text_before_them() -> None:
    assert canonical(read(LLAMAINDEX_BLOCKS)) == snapshot(
        {
            "answer": "Notice is 30 days.",
            "contexts": ({"source_id": "lease", "title": "Lease"},),
            "citations": (
                {
                    "claim": "Notice is 30 days.",
                    "quote": "The notice period is 30 days.",
                    "source_id": "lease",
                    "answer_start": 0,
                    "answer_end": 18,
                    "source_start": 108,
                    "source_end": 137,
                },
            ),
            "versions": {"citation_payload": "llamaindex"},
        }
    )


# -- what all of them share -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_PRODUCER)
def test_a_payload_is_told_by_its_own_fields_and_kept_as_it_came(name: str) -> None:
    payload = BY_PRODUCER[name]
    output = read(payload)
    assert detect(payload) == name
    assert output.versions == {"citation_payload": name}
    assert output.raw == payload
    assert read(payload, name) == output
    assert Target(callable="a:b", citations=name).citations == name


@pytest.mark.parametrize("name", BY_PRODUCER)
def test_a_payload_of_another_producer_than_the_named_one_is_refused(name: str) -> None:
    other = next(payload for producer, payload in BY_PRODUCER.items() if producer != name)
    with pytest.raises(PayloadError, match=name):
        read_payload(other, name)
    with pytest.raises(PayloadError, match="canonical"):
        read_payload({"answer": "30 days"}, name)


def test_a_payload_with_the_fields_of_two_producers_is_an_error_that_names_both() -> None:
    both = {**AZURE, "search_results": [{"url": "https://a.example"}]}
    with pytest.raises(AmbiguousPayloadError, match="azure_on_your_data or perplexity"):
        read_payload(both)
    assert read(both, "perplexity").versions == {"citation_payload": "perplexity"}


@pytest.mark.parametrize(
    "value",
    ["30 days", {"answer": "30 days"}, {"some": "thing"}, None, 3, [], ["x"], Output(), {"text": "a", "output": []}],
)
def test_what_is_nobodys_payload_is_left_to_the_canonical_form(value: Any) -> None:
    assert read_payload(value) is None


EMPTY: dict[str, Any] = {
    "anthropic": {"type": "message", "content": []},
    "openai_responses": {"object": "response", "output": []},
    "openai_chat": {"choices": []},
    "openai_assistants": {"object": "thread.message", "content": []},
    "cohere": {"message": {"role": "assistant", "content": []}},
    "gemini": {"candidates": []},
    "bedrock_rag": {"output": {"text": ""}, "sessionId": "s"},
    "bedrock_converse": {"output": {"message": {}}},
    "azure_on_your_data": {"choices": [{"message": {"content": None, "context": {}}}]},
    "perplexity": {"choices": [], "citations": []},
    "langchain": {"type": "ai", "content": ""},
    "llamaindex": {"response": "", "source_nodes": []},
}


@pytest.mark.parametrize("name", BY_PRODUCER)
def test_an_empty_payload_is_an_empty_answer_with_nothing_made_up(name: str) -> None:
    output = read(EMPTY[name], name)
    assert (output.answer, output.contexts, output.citations) == ("", (), ())
    assert output.usage.input_tokens is None
    assert output.usage.output_tokens is None


def strings(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every leaf and container below a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in pairs for found in ((*path, key), *strings(item, (*path, key)))]


@pytest.mark.parametrize("name", BY_PRODUCER)
@pytest.mark.parametrize("junk", [-1, "x", ["x", {}], {"a": None}], ids=str)
def test_a_field_of_another_type_is_never_a_crash(name: str, junk: Any) -> None:
    for path in strings(BY_PRODUCER[name]):
        payload = copy.deepcopy(BY_PRODUCER[name])
        at = payload
        for part in path[:-1]:
            at = at[part]
        at[path[-1]] = junk
        try:
            output = read_payload(payload, name)
        except PayloadError:
            continue
        assert isinstance(output, Output)


@dataclasses.dataclass
class Block:
    type: str
    text: str
    citations: list[dict[str, Any]]


class Message(BaseModel):
    type: str
    role: str
    content: list[Any]


class Old:
    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def to_dict(self) -> dict[str, Any]:
        return self.fields


def test_an_sdks_object_is_read_like_its_fields() -> None:
    block = Block(type="text", text="Notice is 30 days.", citations=ANTHROPIC["content"][1]["citations"])
    message = Message(type="message", role="assistant", content=[block])
    assert read(message).citations[0].quote == PASSAGE
    assert read(Old(OPENAI_CHAT)) == read(OPENAI_CHAT)


def test_a_payload_goes_with_the_passages_that_the_caller_gave_to_the_producer() -> None:
    contexts = [{"source_id": "lease", "text": LEASE, "title": "Lease"}, {"text": "x"}, {"text": "y"}]
    output = read({"response": ANTHROPIC, "contexts": contexts, "latency_ms": 12, "versions": {"prompt": "7"}})
    first = output.citations[0]
    assert (first.source_id, first.source_start, first.source_end, first.flags) == ("lease", 108, 137, ())
    assert output.contexts[0].text is not None
    assert output.contexts[0].text[108:137] == PASSAGE
    assert [citation.source_id for citation in output.citations[1:3]] == ["2", "3"]
    assert output.latency_ms == 12
    assert output.versions == {"prompt": "7", "citation_payload": "anthropic"}
    assert provenance(output) == "exact"
    assert provenance(read(ANTHROPIC)) == "no_evidence_text"


# -- offsets that are wrong -----------------------------------------------------------------------------------------

WRONG: dict[str, tuple[str, Any]] = {
    "anthropic": ("content.1.citations.0.end_char_index", 141),
    "openai_responses": ("output.1.content.0.annotations.1.end_index", 400),
    "openai_chat": ("choices.0.message.annotations.0.url_citation.start_index", 19),
    "openai_assistants": ("content.0.text.annotations.0.start_index", 16),
    "cohere": ("message.citations.0.start", 9),
    "gemini": ("candidates.0.groundingMetadata.groundingSupports.0.segment.endIndex", 20),
    "bedrock_rag": ("citations.0.generatedResponsePart.textResponsePart.span.end", 19),
    "bedrock_converse": ("output.message.content.1.citationsContent.citations.0.location.documentChar.end", 130),
    "langchain": ("content.0.annotations.0.end_index", 99),
}


@pytest.mark.parametrize("name", WRONG)
def test_offsets_that_disagree_are_flagged_and_never_moved(name: str) -> None:
    good, bad = read(BY_PRODUCER[name]), read(changed(BY_PRODUCER[name], *WRONG[name]))
    assert not any(citation.flags for citation in good.citations)
    flagged = [citation for citation in bad.citations if "offset_mismatch" in citation.flags]
    assert flagged
    assert len(bad.citations) == len(good.citations)
    assert [citation.quote for citation in bad.citations] == [citation.quote for citation in good.citations]
    reason = verify_citation(flagged[0], bad.contexts, bad.answer).warnings
    assert "offset_mismatch" in reason


def test_offsets_counted_in_another_unit_are_named_and_not_taken() -> None:
    """“Miete für 30 Tage 🏠.” has 20 code points, 21 UTF-16 units and 24 bytes; Gemini documents bytes."""
    support = "candidates.0.groundingMetadata.groundingSupports.0.segment.endIndex"
    for end, flag in ((20, "offset_fits_code_points"), (21, "offset_fits_utf16"), (23, "offset_fits_utf8_inclusive")):
        citation = read(changed(GEMINI, support, end)).citations[0]
        assert citation.flags == ("offset_mismatch", flag)
        assert citation.answer_end != 20


def test_source_offsets_are_held_against_the_passage_that_the_caller_captured() -> None:
    moved = changed(changed(ANTHROPIC, "content.1.citations.0.start_char_index", 110), WRONG["anthropic"][0], 139)
    without = read(moved).citations[0]
    assert without.flags == ()  # as long as the quote: all that can be checked without the document
    within = read({"response": moved, "contexts": [LEASE, "", ""]}).citations[0]
    assert (within.flags, within.source_start, within.source_end) == (("offset_mismatch",), 110, 139)


def test_a_document_of_another_title_than_the_cited_one_is_flagged() -> None:
    contexts = [{"source_id": "annex", "text": LEASE, "title": "Annex"}]
    assert read({"response": ANTHROPIC, "contexts": contexts}).citations[0].flags == ("source_mismatch",)


# -- missing texts, truncation, variants that are not known ---------------------------------------------------------

MISSING: dict[str, str] = {
    "anthropic": "content.1.citations.0.cited_text",
    "openai_responses": "output.0.results",
    "openai_assistants": "content.0.text.annotations.0.text",
    "cohere": "message.citations.0.sources.0.document.text",
    "gemini": "candidates.0.groundingMetadata.groundingChunks.1.retrievedContext.text",
    "bedrock_rag": "citations.0.retrievedReferences.0.content.text",
    "bedrock_converse": "output.message.content.1.citationsContent.citations.0.sourceContent",
    "azure_on_your_data": "choices.0.message.context.citations.0.content",
    "langchain": "content.0.annotations.0.cited_text",
    "llamaindex": "source_nodes.0.node.text",
}


@pytest.mark.parametrize("name", MISSING)
def test_a_text_that_is_missing_leaves_the_citation_unmeasured_and_not_failed(name: str) -> None:
    payload = changed(BY_PRODUCER[name], MISSING[name], ...)
    if name == "gemini":
        payload = changed(payload, "candidates.0.groundingMetadata.groundingChunks.1.retrievedContext.ragChunk", ...)
    output = read(payload)
    assert len(output.citations) == len(read(BY_PRODUCER[name]).citations)
    index = 1 if name == "gemini" else 0
    assert provenance(output, index) == "no_evidence_text"


TRUNCATED: dict[str, tuple[str, Any, str]] = {
    "anthropic": ("stop_reason", "max_tokens", "max_tokens"),
    "openai_responses": ("incomplete_details", {"reason": "max_output_tokens"}, "max_output_tokens"),
    "openai_chat": ("choices.0.finish_reason", "length", "length"),
    "openai_assistants": ("incomplete_details", {"reason": "max_tokens"}, "max_tokens"),
    "cohere": ("finish_reason", "MAX_TOKENS", "MAX_TOKENS"),
    "gemini": ("candidates.0.finishReason", "MAX_TOKENS", "MAX_TOKENS"),
    "bedrock_rag": ("guardrailAction", "INTERVENED", "guardrail_intervened"),
    "bedrock_converse": ("stopReason", "max_tokens", "max_tokens"),
    "azure_on_your_data": ("choices.0.finish_reason", "length", "length"),
    "perplexity": ("choices.0.finish_reason", "length", "length"),
    "langchain": ("response_metadata.finish_reason", "length", "length"),
}


@pytest.mark.parametrize("name", TRUNCATED)
def test_an_answer_that_was_cut_says_so_in_its_finish_reason(name: str) -> None:
    path, value, reason = TRUNCATED[name]
    assert read(changed(BY_PRODUCER[name], path, value)).finish_reason == reason


UNKNOWN: dict[str, str] = {
    "anthropic": "content.1.citations.0.type",
    "openai_responses": "output.1.content.0.annotations.0.type",
    "openai_chat": "choices.0.message.annotations.0.type",
    "openai_assistants": "content.0.text.annotations.0.type",
    "cohere": "message.citations.0.type",
    "langchain": "content.0.annotations.0.type",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_citation_of_an_unknown_type_is_counted_and_unmeasured(name: str) -> None:
    output = read(changed(BY_PRODUCER[name], UNKNOWN[name], "hologram/v2"))
    citation = output.citations[0]
    assert (citation.source_id, citation.flags) == ("unknown:hologram_v2", ("unknown_citation_type",))
    assert provenance(output) == "no_evidence_text"


def test_unknown_places_of_bedrock_and_gemini_are_counted_too() -> None:
    location = "output.message.content.1.citationsContent.citations.0.location"
    assert read(changed(BEDROCK_CONVERSE, location, {"audio": {"start": 1}})).citations[0].flags == (
        "unknown_citation_type",
    )
    chunk = "candidates.0.groundingMetadata.groundingChunks.0"
    assert read(changed(GEMINI, chunk, {"hologram": {}})).citations[0].flags == ("unknown_citation_type",)
    # An index beyond the chunks names nothing.
    index = "candidates.0.groundingMetadata.groundingSupports.0.groundingChunkIndices"
    assert provenance(read(changed(GEMINI, index, [9]))) == "dangling"


LACKING: dict[str, tuple[dict[str, Any], set[str]]] = {
    # Their citations are markers in the text, or ids: there are no offsets that could be wrong.
    "offsets": (WRONG, {"azure_on_your_data", "perplexity", "llamaindex"}),
    # Links: no evidence text ever comes with them.
    "texts": (MISSING, {"openai_chat", "perplexity"}),
    # A response of the query engine says nothing of how it ended.
    "a finish reason": (TRUNCATED, {"llamaindex"}),
    # One kind of citation each; those of Bedrock's Converse and Gemini are in a test of their own.
    "kinds of citations": (
        UNKNOWN,
        {"azure_on_your_data", "perplexity", "llamaindex", "bedrock_rag", "bedrock_converse", "gemini"},
    ),
}


@pytest.mark.parametrize("what", LACKING)
def test_every_producer_is_tried_with_every_fault_that_its_payload_can_have(what: str) -> None:
    table, without = LACKING[what]
    assert set(table) | without == set(BY_PRODUCER)
    assert not set(table) & without


# -- one producer's own ways ----------------------------------------------------------------------------------------


def test_azures_context_is_read_where_it_arrives_as_a_json_text() -> None:
    import json

    context = AZURE["choices"][0]["message"]["context"]
    as_text = changed(AZURE, "choices.0.message.context", json.dumps(context))
    in_tool = {"messages": [{"role": "tool", "content": json.dumps(context)}]}
    as_tool = changed(AZURE, "choices.0.message.context", in_tool)
    for payload in (as_text, as_tool):
        assert canonical(read(payload)) == canonical(read(AZURE))
    with pytest.raises(PayloadError, match="not JSON"):
        read(changed(AZURE, "choices.0.message.context", "{broken"))


def test_geminis_fields_are_read_in_the_sdks_spelling() -> None:
    import re

    def snake(value: Any) -> Any:
        if isinstance(value, dict):
            return {re.sub("[A-Z]", lambda m: "_" + m.group().lower(), key): snake(item) for key, item in value.items()}
        return [snake(item) for item in value] if isinstance(value, list) else value

    assert canonical(read(snake(GEMINI))) == canonical(read(GEMINI))


def test_langchain_hands_on_what_providers_made() -> None:
    message = {"type": "ai", "content": ANTHROPIC["content"]}
    assert read(message).citations == read(ANTHROPIC).citations
    serialized = {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": LANGCHAIN}
    assert read(serialized).citations == read(LANGCHAIN).citations
    openai = {"type": "ai", "content": OPENAI_RESPONSES["output"][1]["content"]}
    openai["content"][0] = {**openai["content"][0], "type": "text"}
    assert len(read(openai).citations) == 3


def test_a_refusal_is_the_answer_with_its_reason() -> None:
    refused = {
        "object": "response",
        "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}],
    }
    assert (read(refused).answer, read(refused).finish_reason) == ("No.", "refusal")
    chat = changed(changed(OPENAI_CHAT, "choices.0.message.content", None), "choices.0.message.refusal", "No.")
    assert (read(chat).answer, read(chat).finish_reason) == ("No.", "refusal")


def test_a_cited_file_of_several_passages_may_carry_the_claim_with_any_of_them() -> None:
    """The second passage of file-1 says that rent is monthly; index 30 is in the sentence that says so too."""
    output = read(changed(OPENAI_RESPONSES, "output.1.content.0.annotations.0.index", 30))
    verdict = verify_citation(output.citations[0], output.contexts, output.answer)
    assert verdict.claim is not None
    assert (verdict.claim.text, verdict.provenance.value, verdict.ok) == ("Rent is monthly.", "passage", True)


def test_of_a_list_of_messages_the_newest_of_the_assistant_is_read() -> None:
    older = changed(OPENAI_ASSISTANTS, "content.0.text", {"value": "Old.", "annotations": []})
    asked = {"object": "thread.message", "role": "user", "content": [], "created_at": 9}
    listed = {"object": "list", "data": [{**older, "created_at": 1}, {**OPENAI_ASSISTANTS, "created_at": 2}, asked]}
    assert read(listed).answer == read(OPENAI_ASSISTANTS).answer


def test_a_citation_of_one_passage_is_not_carried_by_another_of_the_same_address() -> None:
    chunks = [
        {"retrievedContext": {"uri": "gs://b/lease", "text": "Rent is due monthly."}},
        {"retrievedContext": {"uri": "gs://b/lease", "text": PASSAGE}},
    ]
    path = "candidates.0.groundingMetadata.groundingChunks"
    support = "candidates.0.groundingMetadata.groundingSupports.1.groundingChunkIndices"
    for index, ok in ((0, False), (1, True)):
        output = read(changed(changed(GEMINI, path, chunks), support, [index]))
        cited = output.citations[1]
        assert (cited.source_id, cited.claim) == (["gs://b/lease", "gs://b/lease#2"][index], "Notice is 30 days.")
        assert verify_citation(cited, output.contexts, output.answer).ok is ok


def test_two_passages_of_one_source_have_names_of_their_own() -> None:
    names = [context.source_id for context in read(AZURE).contexts]
    assert names == ["lease.pdf", "lease.pdf#2", "parking.pdf"]


def seconds_of_reading(n: int) -> float:
    import time

    piece = "Die Miete für 30 Tage 🏠 ist fällig. "
    width = len(piece.encode())
    supports = [
        {"segment": {"startIndex": i * width, "endIndex": (i + 1) * width}, "groundingChunkIndices": [i]}
        for i in range(n)
    ]
    chunks = [{"retrievedContext": {"uri": f"gs://b/{i}", "text": "Miete"}} for i in range(n)]
    grounding = {"groundingChunks": chunks, "groundingSupports": supports}
    payload = {"candidates": [{"content": {"parts": [{"text": piece * n}]}, "groundingMetadata": grounding}]}
    start = time.process_time()
    assert len(read(payload).citations) == n
    return time.process_time() - start


def test_time_grows_with_the_payload_and_not_with_its_square() -> None:
    # Ten times as long: linear is 10, a square 100. The better of two runs, since others use the machine too.
    short, long = (min(seconds_of_reading(n) for _ in range(2)) for n in (300, 3000))
    assert long < 60 * short


def test_a_heading_with_a_long_tail_of_blanks_is_read_at_once() -> None:
    answer = "x [1]\nSources" + " " * 200_000 + "x"
    assert len(read({"answer": answer, "contexts": ["a"]}, "markers").citations) == 1
