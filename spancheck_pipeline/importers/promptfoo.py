"""Promptfoo results (``promptfoo eval --output results.json``), versions 2 and 3: one row a test, prompt and provider.

A captured run has one system: of a file with several providers or prompts one must be chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spancheck_pipeline.evidence.payloads.reading import amount, first, mapping
from spancheck_pipeline.importers.documents import items_of
from spancheck_pipeline.importers.record import Record
from spancheck_pipeline.storage.case_rows import Report

_VERSIONS = (None, 2, 3)


def read(path: Path, report: Report, *, only: str | None = None) -> Iterator[Record]:
    """Yield the results of one provider. The question is the test's one variable, or all of its variables."""
    systems: dict[str, None] = {}
    others: dict[str, None] = {}
    repeats: dict[tuple[str, Any], int] = {}
    for item in items_of(path, report, lambda document: _results(document, report)):
        system = _provider(item.value.get("provider"))
        label = mapping(item.value.get("prompt")).get("label")
        names = {system, f"{system} · {label}"} if label else {system}
        if only is not None and only not in names:
            others[system] = None
            continue
        systems[f"{system} · {label}" if label else system] = None
        index = item.value.get("testIdx")
        key = (system, index if isinstance(index, int) else item.where)
        epoch = repeats.get(key, 0)
        repeats[key] = epoch + 1
        yield _record(item.value, item.where, epoch)
    if len(systems) > 1:
        report.add(f"holds answers of {len(systems)} systems ({_shown(systems)})", fix="choose one with --only NAME")
    elif only is not None and others and not systems:
        report.add(f"holds no answer of {only[:80]!r}", fix=f"it has answers of {_shown(others)}")


def _shown(systems: Mapping[str, None]) -> str:
    return ", ".join(repr(name[:80]) for name in list(systems)[:8])


def _results(document: Any, report: Report) -> list[Any] | None:
    body = document.get("results") if isinstance(document, Mapping) else None
    if isinstance(body, list):
        return body
    if not isinstance(body, Mapping):
        return None
    version = body.get("version")
    if version not in _VERSIONS:
        report.add(f"is of results version {version!r}; versions 2 and 3 are known")
        return []
    found = body.get("results")
    return found if isinstance(found, list) else None


def _record(item: Mapping[str, Any], where: str, epoch: int) -> Record:
    test = mapping(item.get("testCase"))
    response = mapping(item.get("response"))
    stated = mapping(item.get("vars")) or mapping(test.get("vars"))
    variables = {name: value for name, value in stated.items() if name != "sessionId"}
    question = next(iter(variables.values())) if len(variables) == 1 else variables or None
    output = response.get("output")
    latency = None if response.get("cached") else amount(item.get("latencyMs"))
    error = item.get("error") if output is None else None
    return Record(
        case={"input": question, "meta": _meta(test)},
        output=None if output is None else _output(output, response, item),
        error=str(error or "the result has no output") if output is None else None,
        error_class="RecordedError" if error else "NoRecordedAnswer",
        # A cached response says how long reading the cache took.
        latency_ms=latency,
        epoch=epoch,
        where=where,
        source=item,
    )


def _output(output: Any, response: Mapping[str, Any], item: Mapping[str, Any]) -> Any:
    tokens = mapping(response.get("tokenUsage"))
    cost = first(item, "cost") if amount(item.get("cost")) is not None else amount(response.get("cost"))
    # Of a cached response promptfoo counts all tokens as cached, and neither prompt nor completion.
    usage = {
        "input_tokens": tokens.get("prompt"),
        "output_tokens": tokens.get("completion"),
        "cost_usd": cost if cost or not response.get("cached") else None,
    }
    beside = {"usage": usage, "finish_reason": response.get("finishReason")}
    if isinstance(output, str):
        return {"answer": output, **beside}
    # A provider that returns an object: ours, or a producer's payload, as the target's `citations` says.
    return {**beside, **output} if isinstance(output, Mapping) and "answer" in output else output


def _meta(test: Mapping[str, Any]) -> dict[str, Any] | None:
    kept = {name: test[name] for name in ("description", "metadata") if test.get(name)}
    return kept or None


def _provider(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("label") or value.get("id") or "")
    return str(value or "")
