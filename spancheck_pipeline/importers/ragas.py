"""Ragas evaluation datasets: single-turn and multi-turn samples (0.2 and later), and the older columns."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spancheck_pipeline.importers.documents import Item, items_of
from spancheck_pipeline.importers.record import Record
from spancheck_pipeline.storage.case_rows import Report

_OLDER = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
}
"""Names before ragas 0.2."""
_NO_COMMA = re.compile(r"['\"]\s+['\"]")


def read(path: Path, report: Report) -> Iterator[Record]:
    """Yield the samples of a dataset written by ``to_jsonl``, ``to_csv`` or ``to_pandas().to_parquet``."""
    for item in items_of(path, report, _samples):
        sample = {_OLDER.get(name, name): value for name, value in item.value.items()}
        if "user_input" not in sample:
            what = item.said("has neither 'user_input' (ragas 0.2 and later) nor 'question' (before)")
            report.add(what, line=item.line, fix="export the dataset with EvaluationDataset.to_jsonl")
            continue
        texts = sample.get("retrieved_contexts")
        if texts not in (None, "") and _listed(texts) is None:
            fix = "export the dataset with EvaluationDataset.to_jsonl"
            report.add(item.said("'retrieved_contexts' is no list of texts"), line=item.line, fix=fix)
            continue
        yield _record(item, sample)


def _samples(document: Any) -> list[Any] | None:
    if isinstance(document, Mapping):
        document = document.get("samples")
    return document if isinstance(document, list) else None


def _record(item: Item, sample: Mapping[str, Any]) -> Record:
    question, answer = sample["user_input"], sample.get("response")
    history: list[dict[str, str]] = []
    if isinstance(question, str) and question.startswith("[{") and item.is_flat:
        question = _listed(question)
    if isinstance(question, list):
        question, history, answer = _turns(question, answer)
    texts, ids = _listed(sample.get("retrieved_contexts")), _listed(sample.get("retrieved_context_ids"))
    contexts = None
    if texts is not None:
        names = ids if ids is not None and len(ids) == len(texts) else [None] * len(texts)
        contexts = [{"source_id": _text(name), "text": text} for name, text in zip(names, texts, strict=True)]
    wanted = _listed(sample.get("reference_context_ids"))
    return Record(
        case={
            "input": question,
            "history": history or None,
            "expected": sample.get("reference"),
            "expected_sources": [str(name) for name in wanted] if wanted else None,
        },
        output={"answer": answer, "contexts": contexts} if answer is not None else None,
        error=None if answer is not None else "the sample has no response",
        error_class="NoRecordedAnswer",
        where=item.where,
        line=item.line,
        source=item.value,
    )


def _turns(messages: list[Any], answer: Any) -> tuple[Any, list[dict[str, str]], Any]:
    """Return the last question, the turns before it, and the last answer of a conversation."""
    spoken = [(str(turn.get("type")), turn.get("content")) for turn in messages if isinstance(turn, Mapping)]
    asked = [index for index, (kind, _) in enumerate(spoken) if kind == "human"]
    if not asked:
        return None, [], answer
    last = asked[-1]
    replies = [content for kind, content in spoken[last + 1 :] if kind == "ai"]
    roles = {"human": "user", "ai": "assistant"}
    history = [{"role": roles.get(kind, kind), "text": str(content)} for kind, content in spoken[:last]]
    return spoken[last][1], history, answer if answer is not None else replies[-1] if replies else None


def _listed(value: Any) -> list[Any] | None:
    """Return a list; of CSV, where ragas writes a list as Python or NumPy does, the list that the cell shows."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = _array(value) or ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError):
            return None
    return list(value) if isinstance(value, list | tuple) else None


def _array(cell: str) -> list[Any] | None:
    """Return the texts of an array as NumPy shows it, without commas; None for a list as Python shows it.

    Python reads texts that follow one another as one text, and never shows a list so.

    >>> _array("['a' 'b']"), _array("['a', 'b']")
    (['a', 'b'], None)
    """
    if not _NO_COMMA.search(cell):
        return None
    found = [(token.type, token.string) for token in tokenize.generate_tokens(io.StringIO(cell).readline)]
    found = [(kind, word) for kind, word in found if kind not in {tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER}]
    inner = found[1:-1]
    if not inner or any(kind != tokenize.STRING for kind, _ in inner):
        return None
    return [ast.literal_eval(word) for _, word in inner]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
