"""One recorded file a format, in the shapes that the tools write: made-up leases, real field names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

QUESTION = "What is the notice period?"
PASSAGE = "The notice period is 30 days."
ANSWER = "Notice is 30 days."

ROWS: list[dict[str, Any]] = [
    {
        "id": "q1",
        "input": QUESTION,
        "expected": "30 days",
        "answerable": True,
        "answer": ANSWER,
        "contexts": [{"source_id": "lease", "text": PASSAGE}],
        "citations": [{"quote": PASSAGE, "source_id": "lease"}],
        "usage": {"input_tokens": 10, "output_tokens": 4},
        "latency_ms": 120.0,
    },
    {"case_id": 2, "input": {"topic": "pets"}, "error": "timed out"},
]

SPANCHECK: dict[str, Any] = {
    "schema_version": "1.0",
    "cases": [
        {
            "case_id": "q1",
            "input": QUESTION,
            "category": "lease",
            "expected": "30 days",
            "meta": {"answerable": True},
            "output": {
                "answer": ANSWER,
                "citations": [{"span": PASSAGE, "source_id": "lease"}],
                "contexts": [PASSAGE],
                "sources": {"lease": PASSAGE},
                "usage": {"input_tokens": 10, "output_tokens": 4},
                "latency_ms": 120.0,
            },
            "grades": [{"grader": "groundedness", "passed": True, "score": 1.0, "detail": ""}],
        },
        {"case_id": "q2", "input": "Pets?", "error": "TimeoutError: too slow", "grades": []},
    ],
}

RAGAS: list[dict[str, Any]] = [
    {
        "user_input": QUESTION,
        "retrieved_contexts": [PASSAGE, "Rent is due monthly."],
        "retrieved_context_ids": ["lease", 7],
        "reference_context_ids": ["lease"],
        "response": ANSWER,
        "reference": "30 days",
    },
    {
        "user_input": [
            {"type": "human", "content": "Hello"},
            {"type": "ai", "content": "Ask me."},
            {"type": "human", "content": QUESTION},
            {"type": "ai", "content": ANSWER},
        ]
    },
    {"user_input": "Unanswered?", "response": None},
]
RAGAS_OLDER: list[dict[str, Any]] = [
    {"question": QUESTION, "answer": ANSWER, "contexts": [PASSAGE], "ground_truth": "30 days"}
]

DEEPEVAL: list[dict[str, Any]] = [
    {
        "input": QUESTION,
        "actual_output": ANSWER,
        "expected_output": "30 days",
        "context": ["Ideal."],
        "retrieval_context": [PASSAGE],
        "completion_time": 0.5,
        "input_token_count": 10,
        "output_token_count": 4,
        "token_cost": 0.001,
    },
    {"input": "Pets?", "actual_output": None},
]
DEEPEVAL_RUN: dict[str, Any] = {
    "testRunData": {
        "testCases": [
            {
                "name": "test_case_0",
                "input": QUESTION,
                "actualOutput": ANSWER,
                "expectedOutput": "30 days",
                "retrievalContext": [PASSAGE],
                "success": True,
                "metricsData": [],
            }
        ]
    }
}

PROMPTFOO: dict[str, Any] = {
    "evalId": "eval-1",
    "results": {
        "version": 3,
        "timestamp": "2026-03-14T02:00:00Z",
        "results": [
            {
                "testIdx": 0,
                "promptIdx": 0,
                "provider": {"id": "openai:gpt-5.2", "label": ""},
                "prompt": {"raw": "Answer {{question}}", "label": "main"},
                "vars": {"question": QUESTION, "sessionId": "s1"},
                "testCase": {"description": "notice", "vars": {"question": QUESTION}},
                "response": {"output": ANSWER, "tokenUsage": {"total": 14, "prompt": 10, "completion": 4}},
                "latencyMs": 120,
                "cost": 0.001,
                "success": True,
            },
            {
                "testIdx": 1,
                "promptIdx": 0,
                "provider": {"id": "openai:gpt-5.2", "label": ""},
                "prompt": {"raw": "Answer {{question}}", "label": "main"},
                "vars": {"question": "Pets?", "tone": "short"},
                "testCase": {},
                "error": "API error: 500",
                "success": False,
            },
        ],
    },
}

INSPECT: dict[str, Any] = {
    "version": 2,
    "status": "success",
    "eval": {"task": "leases", "model": "openai/gpt-5.2"},
    "samples": [
        {
            "id": 1,
            "epoch": epoch,
            "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}],
            "target": "30 days",
            "output": {
                "model": "gpt-5.2",
                "choices": [
                    {
                        "message": {
                            "role": "assistant",
                            "content": [
                                {
                                    "type": "text",
                                    "text": ANSWER,
                                    "citations": [
                                        {"type": "url", "url": "https://ex.org", "title": "Ex", "cited_text": [0, 6]},
                                        {"type": "document", "title": "Lease", "cited_text": PASSAGE},
                                    ],
                                }
                            ],
                        },
                        "stop_reason": "stop",
                    }
                ],
                "usage": {"input_tokens": 10, "output_tokens": 4, "input_tokens_cache_read": 3},
                "time": 0.5,
            },
            "metadata": {"contexts": [{"source_id": "lease", "text": PASSAGE}]},
        }
        for epoch in (1, 2)
    ]
    + [{"id": 2, "epoch": 1, "input": "Pets?", "target": "", "error": {"message": "boom", "traceback": ""}}],
}

LANGFUSE: dict[str, Any] = {
    "id": "t1",
    "name": "ask",
    "timestamp": "2026-03-14T02:00:00.000Z",
    "input": {"messages": [{"role": "user", "content": QUESTION}]},
    "output": {"role": "assistant", "content": ANSWER},
    "latency": 0.5,
    "totalCost": 0.002,
    "observations": [
        {
            "id": "o1",
            "traceId": "t1",
            "type": "RETRIEVER",
            "name": "search",
            "startTime": "2026-03-14T02:00:00.100Z",
            "endTime": "2026-03-14T02:00:00.200Z",
            "output": [{"page_content": PASSAGE, "metadata": {"source": "lease"}}, "Rent is due monthly."],
        },
        {
            "id": "o2",
            "traceId": "t1",
            "type": "GENERATION",
            "name": "llm",
            "model": "gpt-5.2",
            "startTime": "2026-03-14T02:00:00.200Z",
            "endTime": "2026-03-14T02:00:00.500Z",
            "output": {"role": "assistant", "content": ANSWER},
            "usageDetails": {"input": 10, "input_cached_tokens": 3, "output": 4, "total": 17},
        },
    ],
}


def langfuse_observations() -> list[dict[str, Any]]:
    """Return the trace as observations alone, in the spelling of blob storage exports."""
    root = {"id": "o0", "trace_id": "t1", "type": "SPAN", "start_time": "2026-03-14 02:00:00.000000"}
    root |= {"end_time": "2026-03-14 02:00:00.500000", "input": QUESTION, "output": ANSWER}
    rest = [
        {
            "id": item["id"],
            "trace_id": "t1",
            "parent_observation_id": "o0",
            "type": item["type"],
            "name": item["name"],
            "model": item.get("model"),
            "start_time": item["startTime"],
            "end_time": item["endTime"],
            "output": json.dumps(item["output"]),
            "usage_details": json.dumps(item.get("usageDetails")) if "usageDetails" in item else None,
        }
        for item in LANGFUSE["observations"]
    ]
    return [*rest, root]


def openinference_spans() -> list[dict[str, Any]]:
    """Return a Phoenix export: one span a line, attributes in flat columns, not in the order of time."""

    def span(name: str, parent: str | None, kind: str, start: int, **attributes: Any) -> dict[str, Any]:
        fields = {f"attributes.{key.replace('__', '.')}": value for key, value in attributes.items()}
        return {
            "name": name,
            "context.trace_id": "t1",
            "context.span_id": name,
            "parent_id": parent,
            "start_time": f"2026-03-14T02:00:00.{start}00Z",
            "end_time": f"2026-03-14T02:00:00.{start + 3}00Z",
            "status_code": "OK",
            "attributes.openinference.span.kind": kind,
            **fields,
        }

    documents = [
        {"document.id": "lease", "document.content": PASSAGE, "document.score": 0.9},
        {"document": {"id": "annex", "content": "Rent is due monthly."}},
    ]
    return [
        span(
            "llm",
            "root",
            "LLM",
            5,
            llm__model_name="gpt-5.2",
            llm__output_messages=[{"message.role": "assistant", "message.content": ANSWER}],
            llm__token_count__prompt=10,
            llm__token_count__completion=4,
            llm__token_count={"prompt_details": {"cache_read": 3}},
        ),
        span("root", None, "CHAIN", 1, input__value=QUESTION, output__value="raw"),
        span("search", "root", "RETRIEVER", 2, retrieval__documents=documents),
    ]


def otlp_spans() -> dict[str, Any]:
    """Return an OTLP request with a GenAI retrieval, a chat call and their root."""

    def value(raw: Any) -> dict[str, Any]:
        if isinstance(raw, list):
            return {"arrayValue": {"values": [value(item) for item in raw]}}
        return {"intValue": str(raw)} if isinstance(raw, int) else {"stringValue": raw}

    def span(name: str, parent: str, start: int, **attributes: Any) -> dict[str, Any]:
        pairs = [{"key": key.replace("__", "."), "value": value(raw)} for key, raw in attributes.items()]
        times = {"startTimeUnixNano": f"1773453600{start}0000000", "endTimeUnixNano": f"1773453600{start + 3}0000000"}
        return {"traceId": "t1", "spanId": name, "parentSpanId": parent, "name": name, **times, "attributes": pairs}

    said = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}]
    asked = [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
    spans = [
        span("invoke", "", 10, gen_ai__operation__name="invoke_agent", gen_ai__input__messages=json.dumps(asked)),
        span(
            "search",
            "invoke",
            11,
            gen_ai__operation__name="retrieval",
            gen_ai__retrieval__documents=json.dumps([{"id": "lease", "content": PASSAGE, "score": 0.9}]),
        ),
        span(
            "chat",
            "invoke",
            14,
            gen_ai__operation__name="chat",
            gen_ai__response__model="gpt-5.2",
            gen_ai__usage__input_tokens=10,
            gen_ai__usage__output_tokens=4,
            gen_ai__output__messages=json.dumps(said),
            gen_ai__response__finish_reasons=["stop"],
        ),
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def document(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    return path
