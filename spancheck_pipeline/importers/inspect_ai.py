"""Inspect (``inspect_ai``) evaluation logs in JSON: one sample and epoch a row.

``inspect log convert --to json`` makes one of a binary ``.eval`` log. Retrieved passages have no place in a log: tools
and solvers keep them as they like, so a column map must say where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spancheck_pipeline.evidence.payloads.offsets import place
from spancheck_pipeline.evidence.payloads.reading import amount, items, mapping, text, whole
from spancheck_pipeline.evidence.word import Span
from spancheck_pipeline.importers.documents import items_of
from spancheck_pipeline.importers.record import Record
from spancheck_pipeline.storage.case_rows import Report

_VERSIONS = (1, 2)


def read(path: Path, report: Report) -> Iterator[Record]:
    """Yield the samples of a log. A sample that ended in an error is an error row."""
    if path.suffix == ".eval":
        report.add("is a binary log", fix="inspect log convert FILE --to json --output-dir DIR")
        return
    for item in items_of(path, report, lambda document: _samples(document, report)):
        sample = item.value
        question, history = _question(sample.get("input"))
        output = mapping(sample.get("output"))
        error = sample.get("error")
        message = mapping(mapping(next(iter(items(output.get("choices"))), None)).get("message"))
        has_answer = error is None and bool(message)
        seconds = amount(output.get("time"))
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
            error=None if has_answer else str(mapping(error).get("message") or "the sample has no output"),
            error_class="RecordedError" if error is not None else "NoRecordedAnswer",
            latency_ms=None if seconds is None else seconds * 1000,
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
    turns = [(str(mapping(turn).get("role")), _text(mapping(turn).get("content"))) for turn in value]
    asked = [index for index, (role, _) in enumerate(turns) if role == "user"]
    if not asked:
        return None, []
    return turns[asked[-1]][1], [{"role": role, "text": said} for role, said in turns[: asked[-1]]]


def _output(output: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    usage = mapping(output.get("usage"))
    cached, written = whole(usage.get("input_tokens_cache_read")), whole(usage.get("input_tokens_cache_write"))
    read = whole(usage.get("input_tokens"))
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
        "finish_reason": mapping(next(iter(items(output.get("choices"))), None)).get("stop_reason"),
        "model": output.get("model") or None,
    }


def _answer(content: Any) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the text of a message's content, its citations, and the sources that they name, which have no text."""
    if isinstance(content, str):
        return content, [], []
    answer = ""
    citations: list[dict[str, Any]] = []
    sources: dict[str, dict[str, Any]] = {}
    for block in items(content):
        if block.get("type") != "text":
            continue
        piece = _text(block.get("text"))
        for citation in items(block.get("citations")):
            url, title = text(citation.get("url")), text(citation.get("title"))
            citations.append(_citation(citation, piece, len(answer)) | {"source_id": url or title})
            if name := url or title:
                sources.setdefault(name, {"source_id": name, "uri": url, "title": title})
        answer += piece
    return answer, citations, list(sources.values())


def _citation(citation: Mapping[str, Any], piece: str, at: int) -> dict[str, Any]:
    """Return quote and offsets: a cited text is the source's words, or a range of the block that it is for."""
    cited = citation.get("cited_text")
    span = Span(0, len(piece))
    flags: tuple[str, ...] = ()
    if isinstance(cited, list) and len(cited) == 2 and all(whole(part) is not None for part in cited):  # noqa: PLR2004 - start and end
        placed = place(piece, *cited)
        span, flags = placed.span or span, placed.flags
    return {"quote": text(cited), "answer_start": at + span.start, "answer_end": at + span.end, "flags": flags}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(_text(mapping(part).get("text")) for part in value)
    return value if isinstance(value, str) else ""
