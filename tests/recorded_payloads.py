"""One recorded payload a producer, in the shapes that their documentation shows: made-up leases, real field names."""

from __future__ import annotations

from typing import Any

PASSAGE = "The notice period is 30 days."
LEASE = f"{'Lease of Unit 4. ' * 6}ends: {PASSAGE} Rent is due monthly."
"""A document in which the passage stands at 108–137."""

ANTHROPIC: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [
        {"type": "text", "text": "In short: "},
        {
            "type": "text",
            "text": "Notice is 30 days.",
            "citations": [
                {
                    "type": "char_location",
                    "cited_text": PASSAGE,
                    "document_index": 0,
                    "document_title": "Lease",
                    "file_id": None,
                    "start_char_index": 108,
                    "end_char_index": 137,
                },
                {
                    "type": "page_location",
                    "cited_text": "Thirty days' notice is given in writing.",
                    "document_index": 1,
                    "document_title": "Annex",
                    "file_id": None,
                    "start_page_number": 3,
                    "end_page_number": 4,
                },
                {
                    "type": "content_block_location",
                    "cited_text": "A block about notice.",
                    "document_index": 2,
                    "document_title": None,
                    "file_id": None,
                    "start_block_index": 5,
                    "end_block_index": 6,
                },
                {
                    "type": "search_result_location",
                    "cited_text": "HR says 30 days.",
                    "search_result_index": 0,
                    "source": "kb://hr/12",
                    "title": "HR 12",
                    "start_block_index": 0,
                    "end_block_index": 1,
                },
                {
                    "type": "web_search_result_location",
                    "cited_text": "Thirty days is usual.",
                    "url": "https://ex.org/a",
                    "title": "A",
                    "encrypted_index": "Eo8",
                },
            ],
        },
    ],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 12,
    },
}

OPENAI_RESPONSES: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "gpt-5.2",
    "output": [
        {
            "type": "file_search_call",
            "id": "fs_1",
            "queries": ["notice"],
            "results": [
                {"file_id": "file-1", "filename": "lease.pdf", "score": 0.9, "text": PASSAGE, "attributes": {}},
                {"file_id": "file-1", "filename": "lease.pdf", "score": 0.5, "text": "Rent is due monthly."},
            ],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {
                    "type": "output_text",
                    "text": "Notice is 30 days. Rent is monthly.",
                    "annotations": [
                        {"type": "file_citation", "file_id": "file-1", "filename": "lease.pdf", "index": 17},
                        {
                            "type": "url_citation",
                            "url": "https://ex.org",
                            "title": "Ex",
                            "start_index": 0,
                            "end_index": 18,
                        },
                        {
                            "type": "container_file_citation",
                            "container_id": "c1",
                            "file_id": "file-9",
                            "filename": "t.csv",
                            "start_index": 19,
                            "end_index": 35,
                        },
                        {"type": "file_path", "file_id": "file-8", "index": 0},
                    ],
                }
            ],
        },
    ],
    "usage": {
        "input_tokens": 50,
        "input_tokens_details": {"cached_tokens": 10},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 8},
    },
}

OPENAI_CHAT: dict[str, Any] = {
    "object": "chat.completion",
    "model": "gpt-4o-search-preview",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {
                "role": "assistant",
                "content": "Notice is 30 days.",
                "annotations": [
                    {
                        "type": "url_citation",
                        "url_citation": {"url": "https://ex.org", "title": "Ex", "start_index": 0, "end_index": 18},
                    }
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}},
}

OPENAI_ASSISTANTS: dict[str, Any] = {
    "id": "msg_1",
    "object": "thread.message",
    "role": "assistant",
    "status": "completed",
    "content": [
        {
            "type": "text",
            "text": {
                "value": "Notice is 30 days【4:0†lease.pdf】. Rent is monthly.",
                "annotations": [
                    {
                        "type": "file_citation",
                        "text": "【4:0†lease.pdf】",
                        "start_index": 17,
                        "end_index": 32,
                        "file_citation": {"file_id": "file-1"},
                    }
                ],
            },
        }
    ],
}

COHERE: dict[str, Any] = {
    "id": "c1",
    "finish_reason": "COMPLETE",
    "message": {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "They ask for the notice."},
            {"type": "text", "text": "Notice is 30 days."},
        ],
        "citations": [
            {
                "start": 10,
                "end": 17,
                "text": "30 days",
                "type": "TEXT_CONTENT",
                "content_index": 1,
                "sources": [
                    {"type": "document", "id": "doc:0", "document": {"id": "doc:0", "text": PASSAGE, "title": "Lease"}},
                    {"type": "tool", "id": "t:0", "tool_output": {"answer": "30"}},
                ],
            },
            {"start": 0, "end": 4, "text": "They", "type": "THINKING_CONTENT", "content_index": 0, "sources": []},
        ],
    },
    "usage": {"billed_units": {"input_tokens": 3.0}, "tokens": {"input_tokens": 90.0, "output_tokens": 7.0}},
}

GEMINI: dict[str, Any] = {
    "candidates": [
        {
            "finishReason": "STOP",
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Let me think.", "thought": True},
                    {"text": "Miete für 30 Tage 🏠. Notice is 30 days."},
                ],
            },
            "groundingMetadata": {
                "webSearchQueries": ["notice"],
                "groundingChunks": [
                    {"web": {"uri": "https://ex.org/n", "title": "ex.org", "domain": "ex.org"}},
                    {
                        "retrievedContext": {
                            "uri": "gs://b/lease",
                            "title": "lease",
                            "text": PASSAGE,
                            "ragChunk": {"text": PASSAGE, "pageSpan": {"firstPage": 3, "lastPage": 3}},
                        }
                    },
                ],
                "groundingSupports": [
                    {
                        "segment": {"partIndex": 1, "endIndex": 24, "text": "Miete für 30 Tage 🏠."},
                        "groundingChunkIndices": [0],
                        "confidenceScores": [0.9],
                    },
                    {
                        "segment": {"partIndex": 1, "startIndex": 25, "endIndex": 43, "text": "Notice is 30 days."},
                        "groundingChunkIndices": [1],
                    },
                ],
            },
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 40,
        "toolUsePromptTokenCount": 5,
        "candidatesTokenCount": 10,
        "thoughtsTokenCount": 6,
        "cachedContentTokenCount": 8,
    },
    "modelVersion": "gemini-3-pro",
}

BEDROCK_RAG: dict[str, Any] = {
    "sessionId": "s",
    "output": {"text": "Notice is 30 days. Rent is monthly."},
    "citations": [
        {
            "generatedResponsePart": {
                "textResponsePart": {"text": "Notice is 30 days.", "span": {"start": 0, "end": 17}}
            },
            "retrievedReferences": [
                {
                    "content": {"type": "TEXT", "text": PASSAGE},
                    "location": {"type": "S3", "s3Location": {"uri": "s3://b/lease.pdf"}},
                    "metadata": {"x-amz-bedrock-kb-document-page-number": 3.0},
                },
                {
                    "content": {"type": "IMAGE", "byteContent": "data:"},
                    "location": {"type": "WEB", "webLocation": {"url": "https://ex.org/plan.png"}},
                },
            ],
        },
        {
            "generatedResponsePart": {
                "textResponsePart": {"text": "Rent is monthly.", "span": {"start": 19, "end": 34}}
            },
            "retrievedReferences": [],
        },
    ],
}

BEDROCK_CONVERSE: dict[str, Any] = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"text": "In short: "},
                {
                    "citationsContent": {
                        "content": [{"text": "Notice is 30 days."}],
                        "citations": [
                            {
                                "title": "Lease",
                                "source": "lease",
                                "sourceContent": [{"text": PASSAGE}],
                                "location": {"documentChar": {"documentIndex": 0, "start": 108, "end": 137}},
                            },
                            {
                                "title": "A",
                                "sourceContent": [{"text": "Thirty days is usual."}],
                                "location": {"web": {"url": "https://ex.org/a", "domain": "ex.org"}},
                            },
                        ],
                    }
                },
            ],
        }
    },
    "stopReason": "end_turn",
    "usage": {"inputTokens": 30, "outputTokens": 8, "totalTokens": 58, "cacheReadInputTokens": 20},
    "metrics": {"latencyMs": 812},
}

AZURE: dict[str, Any] = {
    "object": "extensions.chat.completion",
    "model": "gpt-4o",
    "choices": [
        {
            "finish_reason": "stop",
            "message": {
                "role": "assistant",
                "content": "Notice is 30 days [doc1]. Rent is monthly [doc3].",
                "context": {
                    "intent": '["notice period"]',
                    "citations": [
                        {"content": PASSAGE, "title": "Lease", "url": None, "filepath": "lease.pdf", "chunk_id": "0"},
                        {"content": "Other.", "title": "Lease", "url": None, "filepath": "lease.pdf", "chunk_id": "1"},
                    ],
                    "all_retrieved_documents": [
                        {"content": "Parking is free.", "filepath": "parking.pdf", "title": "Parking", "chunk_id": "0"}
                    ],
                },
            },
        }
    ],
    "usage": {"prompt_tokens": 70, "completion_tokens": 9},
}

PERPLEXITY: dict[str, Any] = {
    "model": "sonar-pro",
    "citations": ["https://a.example", "https://b.example"],
    "search_results": [
        {"title": "A", "url": "https://a.example", "date": "2026-01-02", "snippet": "30 days", "source": "web"},
        {"title": "B", "url": "https://b.example", "snippet": "notice"},
    ],
    "choices": [
        {
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Notice is 30 days[1][2]. Rent is due[7]."},
        }
    ],
    "usage": {"prompt_tokens": 6, "completion_tokens": 11, "cost": {"total_cost": 0.006}},
}

LANGCHAIN: dict[str, Any] = {
    "type": "ai",
    "content": [
        {
            "type": "text",
            "text": "Notice is 30 days.",
            "annotations": [
                {
                    "type": "citation",
                    "id": "lc_1",
                    "url": "https://ex.org",
                    "title": "Ex",
                    "start_index": 0,
                    "end_index": 18,
                    "cited_text": PASSAGE,
                    "extras": {},
                }
            ],
        }
    ],
    "response_metadata": {"finish_reason": "stop", "model_name": "gpt-5.2"},
    "usage_metadata": {
        "input_tokens": 12,
        "output_tokens": 4,
        "input_token_details": {"cache_read": 2},
        "output_token_details": {"reasoning": 1},
    },
}

LLAMAINDEX_QUERY: dict[str, Any] = {
    "response": "Notice is 30 days [1]. Rent is due [3].",
    "source_nodes": [
        {
            "node": {"id_": "n1", "text": f"Source 1:\n{PASSAGE}\n", "metadata": {"file_name": "lease.pdf"}},
            "score": 0.8,
        },
        {"node": {"id_": "n2", "text": "Source 2:\nRent is due monthly.", "metadata": {}}, "score": None},
    ],
    "metadata": {},
}

LLAMAINDEX_BLOCKS: dict[str, Any] = {
    "role": "assistant",
    "blocks": [
        {"block_type": "text", "text": "Notice is 30 days."},
        {
            "block_type": "citation",
            "cited_content": {"block_type": "text", "text": PASSAGE},
            "source": "lease",
            "title": "Lease",
            "additional_location_info": {"start_char_index": 108, "end_char_index": 137},
        },
    ],
}

BY_PRODUCER: dict[str, Any] = {
    "anthropic": ANTHROPIC,
    "openai_responses": OPENAI_RESPONSES,
    "openai_chat": OPENAI_CHAT,
    "openai_assistants": OPENAI_ASSISTANTS,
    "cohere": COHERE,
    "gemini": GEMINI,
    "bedrock_rag": BEDROCK_RAG,
    "bedrock_converse": BEDROCK_CONVERSE,
    "azure_on_your_data": AZURE,
    "perplexity": PERPLEXITY,
    "langchain": LANGCHAIN,
    "llamaindex": LLAMAINDEX_QUERY,
}
