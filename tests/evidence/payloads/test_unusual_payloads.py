"""Forms of payloads that are met beside the recorded ones: lists of blocks, older versions, wrappers, odd offsets."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import BaseModel
from recorded_payloads import ANTHROPIC, BEDROCK_RAG, COHERE, GEMINI, OPENAI_RESPONSES, PERPLEXITY

from spancheck_pipeline.clients.answer import output_of
from spancheck_pipeline.evidence.claim import claim_of
from spancheck_pipeline.evidence.payloads import read_payload
from spancheck_pipeline.evidence.run import Output

ANSWER = "Notice is 30 days."
LEASE = "The notice period is 30 days."


def read(payload: Any, producer: Any = "auto") -> Output:
    """Return the output as a target's call gives it."""
    return output_of(payload, citations=producer)


def cited(output: Output) -> list[tuple[str, str | None, tuple[str, ...]]]:
    """Return claim, source and flags of each citation."""
    return [
        (claim_of(item, output.answer, contexts=output.contexts).text, item.source_id, item.flags)
        for item in output.citations
    ]


# -- offsets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [-1, "10", 1.5, True])
def test_offsets_that_cannot_be_a_range_are_flagged_and_not_left_unsaid(offset: Any) -> None:
    anthropic = copy.deepcopy(ANTHROPIC)
    for block in anthropic["content"]:
        for citation in block.get("citations") or ():
            if citation["type"] == "char_location":
                citation["start_char_index"] = offset
    flags = [item.flags for item in read(anthropic).citations]
    assert ("offset_mismatch",) in flags
    cohere, bedrock, gemini = copy.deepcopy(COHERE), copy.deepcopy(BEDROCK_RAG), copy.deepcopy(GEMINI)
    cohere["message"]["citations"][0]["start"] = offset
    bedrock["citations"][0]["generatedResponsePart"]["textResponsePart"]["span"]["start"] = offset
    gemini["candidates"][0]["groundingMetadata"]["groundingSupports"][0]["segment"]["startIndex"] = offset
    for payload in (cohere, bedrock, gemini):
        first = read(payload).citations[0]
        assert first.flags == ("offset_mismatch",)
        assert first.answer_start is None


def test_whole_numbers_that_an_sdk_writes_as_floats_are_offsets() -> None:
    as_floats = copy.deepcopy(COHERE)
    for citation in as_floats["message"]["citations"]:
        citation["start"], citation["end"] = float(citation["start"]), float(citation["end"])
    assert read(as_floats).citations == read(COHERE).citations


# -- the range of a link --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("Rent is due. Notice is 30 days. ([ex.org](https://ex.org/a?utm_source=openai))", "([ex.org](https://ex.org/a?utm_source=openai))"),
        ("Rent is due. Notice is 30 days. ([ex.org](https://ex.org/a))", "[ex.org](https://ex.org/a)"),
        ("Rent is due. Notice is 30 days ([ex.org](https://ex.org/a_(b))). Bye.", "([ex.org](https://ex.org/a_(b)))"),
        ("Rent is due. Notice is 30 days【1†ex】. Bye.", "【1†ex】"),
        ("Rent is due. Notice is 30 days. https://ex.org/a", "https://ex.org/a"),
    ],
)  # fmt: skip
def test_a_range_that_holds_only_a_link_is_for_the_sentence_before_it(text: str, link: str) -> None:
    start = text.index(link)
    note = {"url": "https://ex.org/a", "title": "Ex", "start_index": start, "end_index": start + len(link)}
    content = {"type": "output_text", "text": text, "annotations": [{"type": "url_citation", **note}]}
    responses = {**OPENAI_RESPONSES, "output": [{"type": "message", "content": [content]}]}
    chat = {
        "choices": [{"message": {"content": text, "annotations": [{"type": "url_citation", "url_citation": note}]}}]
    }
    for payload in (responses, chat):
        (claim, source, flags), *more = cited(read(payload))
        assert claim.startswith("Notice is 30 days")
        assert (source, flags, more) == ("https://ex.org/a", (), [])


def test_a_range_of_words_stays_the_claim() -> None:
    note = {"type": "url_citation", "url": "https://ex.org", "title": "Ex", "start_index": 13, "end_index": 31}
    content = {"type": "output_text", "text": f"Rent is due. {ANSWER}", "annotations": [note]}
    assert cited(read({"object": "response", "output": [{"type": "message", "content": [content]}]})) == [
        (ANSWER, "https://ex.org", ())
    ]


def test_a_citation_of_an_unknown_type_is_for_the_text_that_it_stands_with() -> None:
    blocks = [
        {"type": "text", "text": "Rent is due. "},
        {"type": "text", "text": ANSWER, "citations": [{"type": "video_location", "cited_text": LEASE}]},
    ]
    assert cited(read(blocks)) == [(ANSWER, "unknown:video_location", ("unknown_citation_type",))]
    place = {"citationsContent": {"content": [{"text": ANSWER}], "citations": [{"location": {"video": {"at": 1}}}]}}
    converse = {"output": {"message": {"role": "assistant", "content": [{"text": "Rent is due. "}, place]}}}
    assert cited(read(converse)) == [(ANSWER, "unknown:video", ("unknown_citation_type",))]


# -- answers without what their producer usually sends --------------------------------------------------------------


def test_a_list_of_blocks_is_read_whether_or_not_something_was_cited() -> None:
    plain = [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": ANSWER, "citations": None}]
    for producer in ("auto", "anthropic"):
        output = read(plain, producer)
        assert (output.answer, output.citations, output.versions) == (ANSWER, (), {"citation_payload": "anthropic"})
    assert read_payload([{"type": "image", "source": {}}]) is None
    assert read_payload([{"text": ANSWER}]) is None


def test_a_prompt_that_gemini_blocked_is_an_empty_answer_with_its_reason() -> None:
    for blocked in ({"promptFeedback": {"blockReason": "SAFETY"}}, {"prompt_feedback": {"block_reason": "SAFETY"}}):
        output = read({**blocked, "modelVersion": "gemini-2.5"})
        assert (output.answer, output.finish_reason) == ("", "SAFETY")


def test_a_cohere_response_that_only_calls_tools_is_an_empty_answer() -> None:
    message = {"role": "assistant", "tool_plan": "I will search.", "tool_calls": [{"id": "f"}]}
    output = read({"finish_reason": "TOOL_CALL", "message": message})
    assert (output.answer, output.finish_reason, output.citations) == ("", "TOOL_CALL", ())


# -- Cohere v1 ------------------------------------------------------------------------------------------------------

COHERE_V1: dict[str, Any] = {
    "text": ANSWER,
    "generation_id": "g1",
    "citations": [{"start": 10, "end": 17, "text": "30 days", "document_ids": ["doc_0", "doc_9"]}],
    "documents": [{"id": "doc_0", "snippet": LEASE, "title": "Lease"}, {"id": "doc_1", "text": "Rent."}],
    "finish_reason": "COMPLETE",
    "meta": {"tokens": {"input_tokens": 90.0, "output_tokens": 4.0}},
}


def test_a_v1_citations_text_is_the_claim_and_never_a_quote() -> None:
    output = read(COHERE_V1)
    assert output.versions == {"citation_payload": "cohere"}
    assert cited(output) == [("30 days", "doc_0", ()), ("30 days", "doc_9", ())]
    assert [item.quote for item in output.citations] == [None, None]
    assert [(item.source_id, item.text) for item in output.contexts] == [
        ("doc_0", LEASE),
        ("doc_1", "Rent."),
        ("doc_9", None),
    ]
    assert (output.usage.input_tokens, output.usage.output_tokens, output.finish_reason) == (90, 4, "COMPLETE")
    odd = {**COHERE_V1, "documents": [{"id": {"a": 1}}, None, *COHERE_V1["documents"]]}
    assert [item.source_id for item in read(odd).citations] == ["doc_0", "doc_9"]
    assert read_payload({"text": ANSWER, "citations": [{"text": "a quote", "source_id": "lease"}]}) is None


# -- Perplexity -----------------------------------------------------------------------------------------------------


def test_markers_count_every_search_result_also_where_two_have_one_address() -> None:
    results = [{"url": "https://a"}, {"url": "https://a"}, {"url": "https://c"}]
    payload = {
        "search_results": results,
        "choices": [{"message": {"content": "Notice is 30 days[1]. Rent is due[3]."}}],
    }
    assert [item.source_id for item in read(payload).citations] == ["https://a", "https://c"]


def test_what_a_reasoning_model_thought_before_its_answer_is_no_part_of_it() -> None:
    message = {"role": "assistant", "content": "<think>Perhaps 60 days[1].</think>\n\nNotice is 30 days[2]."}
    output = read({**PERPLEXITY, "choices": [{"message": message}]})
    assert output.answer == "Notice is 30 days[2]."
    assert len(output.citations) == 1


# -- LangChain ------------------------------------------------------------------------------------------------------


class Document(BaseModel):
    page_content: str
    metadata: dict[str, Any] | None = None
    id: str | None = None


def message(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "ai", "content": content, "usage_metadata": {"input_tokens": 5, "output_tokens": 6}, **fields}


def test_texts_among_the_content_blocks_are_part_of_the_answer() -> None:
    assert read(message(["Notice is ", {"type": "text", "text": "30 days."}])).answer == ANSWER


def test_citations_that_an_integration_leaves_beside_the_content_are_read() -> None:
    greeting = "日本😀: "  # in bytes 3 + 3 + 4 + 1 + 1 = 12, where the segment starts
    support = {"segment": {"start_index": 12, "end_index": 30, "text": ANSWER}, "grounding_chunk_indices": [0]}
    chunk = {"retrieved_context": {"uri": "gs://b/lease", "text": LEASE}}
    grounding = {"grounding_chunks": [chunk], "grounding_supports": [support]}
    gemini = read(message(greeting + ANSWER, response_metadata={"grounding_metadata": grounding}))
    assert cited(gemini) == [(ANSWER, "gs://b/lease", ())]
    cohere_notes = {"citations": [{**COHERE_V1["citations"][0], "document_ids": {"doc_1", "doc_0"}}]}
    cohere = read(message(ANSWER, additional_kwargs={**cohere_notes, "documents": COHERE_V1["documents"]}))
    assert cited(cohere) == [("30 days", "doc_0", ()), ("30 days", "doc_1", ())]
    links = {"citations": ["https://a", "https://b"]}
    perplexity = read(message("Notice is 30 days[2].", additional_kwargs=links))
    assert [item.source_id for item in perplexity.citations] == ["https://b"]
    assert {item.versions["citation_payload"] for item in (gemini, cohere, perplexity)} == {"langchain"}


@pytest.mark.parametrize(
    ("answer", "documents"), [("answer", "context"), ("result", "source_documents"), ("output_text", "input_documents")]
)
def test_a_retrieval_chains_documents_are_the_passages(answer: str, documents: str) -> None:
    found = [Document(page_content=LEASE, metadata={"source": "lease.pdf"}), Document(page_content="Rent.", id="d2")]
    output = read({"input": "q", answer: ANSWER, documents: found})
    assert output.answer == ANSWER
    assert [(item.source_id, item.text) for item in output.contexts] == [("lease.pdf", LEASE), ("d2", "Rent.")]
    with_message = read({"input": "q", answer: message(ANSWER), documents: found})
    assert (with_message.answer, with_message.usage.input_tokens) == (ANSWER, 5)
    assert with_message.contexts == output.contexts


def test_of_a_graphs_state_the_turn_after_the_last_question_is_read() -> None:
    tool = {
        "type": "tool",
        "content": "…",
        "artifact": [Document(page_content=LEASE, metadata={"source": "lease.pdf"})],
    }
    earlier = [
        {"type": "human", "content": "Hi"},
        message("Hello."),
        {**tool, "artifact": [Document(page_content="Old.")]},
    ]
    state = {"messages": [*earlier, {"type": "human", "content": "Notice?"}, message(""), tool, message(ANSWER)]}
    output = read(state)
    assert output.answer == ANSWER
    assert [(item.source_id, item.text) for item in output.contexts] == [("lease.pdf", LEASE)]
    # Two calls of 5 tokens read and 6 written each; the turn before is not counted.
    assert (output.usage.input_tokens, output.usage.output_tokens) == (10, 12)
    assert output.usage.cached_input_tokens is None
    names = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
    serialized = [
        {"type": "constructor", "id": ["langchain", names[item.pop("type")]], "kwargs": item}
        for item in copy.deepcopy(state["messages"])
    ]
    assert read({"messages": serialized}).model_copy(update={"raw": None}) == output.model_copy(update={"raw": None})
    assert read_payload({"messages": [{"type": "human", "content": "Notice?"}]}) is None
    assert read_payload({"messages": [{"role": "assistant", "content": ANSWER}]}) is None


def test_a_chain_that_retrieved_nothing_answers_without_passages() -> None:
    output = read({"query": "q", "result": ANSWER, "source_documents": []})
    assert (output.answer, output.contexts) == (ANSWER, ())
    assert read_payload({"answer": ANSWER, "context": "some text"}) is None
    assert read_payload({"answer": ANSWER, "contexts": [{"text": LEASE}]}) is None
