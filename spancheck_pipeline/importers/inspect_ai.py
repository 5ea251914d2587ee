"""Inspect (``inspect_ai``) evaluation logs in JSON: one sample and epoch a row.

``inspect log convert --to json`` makes one of a binary ``.eval`` log. Retrieved passages have no place in a log: tools and
solvers keep them as they like, so a column map must say where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spancheck_pipeline.importers.documents import items_of
from spancheck_pipeline.importers.record import Record
from spancheck_pipeline.storage.case_rows import Report

_VERSIONS = {1, 2}


def read(path: Path, report: Report) -> Iterator[Record]:
    """Yield the samples of a log. A sample that ended in an error is an error row."""
    if path.suffix == ".eval":
        report.add("is a binary log", fix="inspect log convert FILE --to json --output-dir DIR")
        return
    for item in items_of(path, report, lambda document: _samples(document, report)):
        sample = item.value
        question, history = _question(sample.get("input"))
        output = _mapping(sample.get("output"))
        error = sample.get("error")
        message = _mapping(_mapping((output.get("choices") or [{}])[0]).get("message"))
        has_answer = error is None and bool(message)
        seconds = output.get("time")
        epoch = sample.get("epoch")
        target = sample.get("target")
        yield Record(
            case={
                "id": sample.get("id"),
                "input": question,
                "history": history or None,
                "expected": target if target not in ("", []) else None,
                "meta": sample.get("metadata") or None,
            },
            output=_output(output, message) if has_answer else None,
            error=None if has_answer else str(_mapping(error).get("message") or "the sample has no output"),
            error_class="RecordedError" if error is not None else "NoRecordedAnswer",
            latency_ms=seconds * 1000 if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None,
            epoch=epoch - 1 if isinstance(epoch, int) and epoch > 0 else 0,
            where=item.where,
            source=sample,
        )


def _samples(document: Any, report: Report) -> list[Any] | None:
    if not isinstance(document, Mapping) or "eval" not in document:
        return None
    version = document.get("version")
    if version not in _VERSIONS:
        report.add(f"is of log version {version!r}; versions 1 and 2 are known")
        return []
    found = document.get("samples")
    if found is None:
        report.add("is a log without samples", fix="log them: inspect eval … --log-samples")
        return []
    return found if isinstance(found, list) else None


def _question(value: Any) -> tuple[Any, list[dict[str, str]]]:
    """Return the last thing that the user said, and the turns before it."""
    if not isinstance(value, list):
        return value, []
    turns = [(str(_mapping(turn).get("role")), _text(_mapping(turn).get("content"))) for turn in value]
    asked = [index for index, (role, _) in enumerate(turns) if role == "user"]
    if not asked:
        return None, []
    return turns[asked[-1]][1], [{"role": role, "text": text} for role, text in turns[: asked[-1]]]


def _output(output: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    usage = _mapping(output.get("usage"))
    cached, written = usage.get("input_tokens_cache_read"), usage.get("input_tokens_cache_write")
    read = usage.get("input_tokens")
    answer, citations, contexts = _answer(message.get("content"))
    return {
        "answer": answer,
        "citations": citations or None,
        "contexts": contexts or None,
        "usage": {
            # Inspect counts cached tokens beside the others.
            "input_tokens": None if read is None else read + (cached or 0) + (written or 0),
            "output_tokens": usage.get("output_tokens"),
            "cached_input_tokens": cached,
            "reasoning_tokens": usage.get("reasoning_tokens"),
        },
        "finish_reason": _mapping((output.get("choices") or [{}])[0]).get("stop_reason"),
        "model": output.get("model") or None,
    }


def _answer(content: Any) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the text of a message's content, its citations, and the sources that they name, which have no text."""
    if isinstance(content, str):
        return content, [], []
    answer = ""
    citations: list[dict[str, Any]] = []
    sources: dict[str, dict[str, Any]] = {}
    for block in content if isinstance(content, list) else ():
        if _mapping(block).get("type") != "text":
            continue
        piece = _text(block.get("text"))
        for citation in block.get("citations") or ():
            source = citation.get("url") or citation.get("title")
            cited = citation.get("cited_text")
            found: dict[str, Any] = {"source_id": source, "answer_start": len(answer), "answer_end": len(answer) + len(piece)}
            if isinstance(cited, str):
                found["quote"] = cited
            elif isinstance(cited, list) and len(cited) == 2 and all(isinstance(at, int) for at in cited):  # noqa: PLR2004 - start and end
                found |= {"answer_start": len(answer) + cited[0], "answer_end": len(answer) + cited[1]}
            citations.append(found)
            if source:
                sources.setdefault(source, {"source_id": source, "uri": citation.get("url"), "title": citation.get("title")})
        answer += piece
    return answer, citations, list(sources.values())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(_text(_mapping(part).get("text")) for part in value)
    return value if isinstance(value, str) else ""
