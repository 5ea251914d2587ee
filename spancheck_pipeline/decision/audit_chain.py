"""The chain of an audit log: how a record's digest is made, so that no record can be changed, removed or moved unseen.

A record's digest is taken over its canonical form, its place and the digest of the one before; the header's digest
stands before the first. Whatever a copy may leave out enters the canonical form as a commitment, a keyed digest: the
copy has the same digests, and nobody can try out phone numbers against them. Every commitment has a salt of its own,
made from the log's key; the whole log carries the key, a redacted copy the salts of what it still shows.

What groups of fields there are, and leaving them out, lives in ``audit_redaction.py``; following a chain in
``audit_check.py``. The key is made by the caller: nothing here is random.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.evidence.canonical import canonical_json

_FROZEN = ConfigDict(frozen=True, extra="forbid")

KEY_BYTES: Final = 32
CHAIN_VERSION: Final = 1
"""Number of this way of making digests; it is part of what is digested."""


class HeaderChain(BaseModel):
    """Where a log's chain begins."""

    model_config = _FROZEN

    version: Literal[1] = CHAIN_VERSION
    digest: str
    """SHA-256 over the header's canonical form, 64 hexadecimal digits: the first record names it as the one before."""
    key: str | None = None
    """What all salts are made from, as hexadecimal digits; None in a redacted copy."""
    salts: dict[str, str] = Field(default_factory=dict)
    """In a redacted copy: salts of the fields that it still shows, by their paths."""
    withheld: dict[str, str] = Field(default_factory=dict)
    """In a redacted copy: commitments to the fields that it leaves out, by their paths."""


class RecordChain(BaseModel):
    """A record's place in its log's chain."""

    model_config = _FROZEN

    index: int
    """0-based."""
    previous: str
    """Digest of the record before; of the header for the first one."""
    digest: str
    """SHA-256 over the record's canonical form, its index and ``previous``."""
    salts: dict[str, str] = Field(default_factory=dict)
    withheld: dict[str, str] = Field(default_factory=dict)


class Leaf(NamedTuple):
    """One value that a redacted copy may leave out."""

    path: str
    """Where it stands: ``call.output.answer``, ``scores[0].findings[2].reason``."""
    holder: dict[str, Any]
    """The object that it stands in, under ``name``."""
    name: str
    groups: frozenset[str]
    """What one can ask to leave out to make it go; ``digests`` go with any text that they were made from."""
    blank: Any
    """What stands in its place when it is left out."""


_QUESTIONS = frozenset({"questions"})
_ANSWERS = frozenset({"answers"})
_CONTEXTS = frozenset({"contexts"})
_ANY = _QUESTIONS | _ANSWERS | _CONTEXTS
"""A reason may quote all of them, and a raw payload repeat them."""
_PII = frozenset({"pii"})
"""A person's name, whether it is found to be one or not."""
_DIGESTS = frozenset({"digests"})
_HEADER_DIGESTS: Final[tuple[tuple[tuple[str, ...], Any], ...]] = (
    (("inputs",), {}),
    (("summary", "inputs"), {}),
    (("decision", "inputs"), {}),
    (("decision", "comparisons"), {}),
    (("decision", "scorecard_digest"), ""),
    (("manifest", "dataset_digest"), ""),
)
"""Digests of files that hold texts: whoever knows all but one short text could try that one out against them."""


def header_leaves(header: dict[str, Any]) -> Iterator[Leaf]:
    """Yield what a redacted copy leaves out of a header."""
    for names, blank in _HEADER_DIGESTS:
        holder: Any = header
        for name in names[:-1]:
            holder = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and names[-1] in holder:
            yield Leaf(".".join(names), holder, names[-1], _DIGESTS, blank)
    for i, comparison in enumerate(header.get("comparisons") or ()):
        yield Leaf(f"comparisons[{i}].inputs", comparison, "inputs", _DIGESTS, {})


def record_leaves(entry: dict[str, Any]) -> Iterator[Leaf]:
    """Yield every value of a record's entry that a redacted copy may leave out, in a fixed order."""
    yield Leaf("question_digest", entry, "question_digest", _DIGESTS, "")
    yield Leaf("label_digest", entry, "label_digest", _DIGESTS, "")
    yield from _case_leaves(entry["case"])
    yield from _call_leaves(entry["call"])
    for i, score in enumerate(entry["scores"]):
        yield Leaf(f"scores[{i}].reason", score, "reason", _ANY, "")
        for j, finding in enumerate(score["findings"]):
            yield Leaf(f"scores[{i}].findings[{j}].reason", finding, "reason", _ANY, "")
    for i, verdict in enumerate(entry["verdicts"]):
        yield Leaf(f"verdicts[{i}].packet_digest", verdict, "packet_digest", _DIGESTS, "")
        yield Leaf(f"verdicts[{i}].reason", verdict, "reason", _ANY, None)
    for i, disposition in enumerate(entry.get("dispositions") or ()):  # older records have none
        yield Leaf(f"dispositions[{i}].finding_digest", disposition, "finding_digest", _DIGESTS, "")
        yield Leaf(f"dispositions[{i}].reason", disposition, "reason", _ANY, "")
        yield Leaf(f"dispositions[{i}].author", disposition, "author", _PII, "")


def _case_leaves(case: dict[str, Any]) -> Iterator[Leaf]:
    yield Leaf("case.input", case, "input", _QUESTIONS, None)
    yield Leaf("case.expected", case, "expected", _QUESTIONS, None)
    yield Leaf("case.meta", case, "meta", _QUESTIONS, {})
    for i, turn in enumerate(case["history"]):
        yield Leaf(f"case.history[{i}].text", turn, "text", _QUESTIONS, "")
    for i, criterion in enumerate(case["criteria"]):
        yield Leaf(f"case.criteria[{i}].target", criterion, "target", _QUESTIONS, {})
        yield Leaf(f"case.criteria[{i}].comment", criterion, "comment", _QUESTIONS, None)
    yield from _context_leaves("case.contexts", case["contexts"])


def _call_leaves(call: dict[str, Any]) -> Iterator[Leaf]:
    yield Leaf("call.question_digest", call, "question_digest", _DIGESTS, "")
    yield Leaf("call.error_message", call, "error_message", _ANSWERS, None)
    output = call["output"]
    if output is None:
        return
    yield Leaf("call.output.answer", output, "answer", _ANSWERS, "")
    yield Leaf("call.output.raw", output, "raw", _ANY, None)
    for i, citation in enumerate(output["citations"]):
        yield Leaf(f"call.output.citations[{i}].claim", citation, "claim", _ANSWERS, None)
        yield Leaf(f"call.output.citations[{i}].quote", citation, "quote", _CONTEXTS, None)
    yield from _context_leaves("call.output.contexts", output["contexts"])


def _context_leaves(path: str, contexts: list[dict[str, Any]]) -> Iterator[Leaf]:
    for i, context in enumerate(contexts):
        yield Leaf(f"{path}[{i}].uri", context, "uri", _CONTEXTS, None)
        yield Leaf(f"{path}[{i}].title", context, "title", _CONTEXTS, None)


# -- salts and digests ------------------------------------------------------------------------------------------


def salt_of(key: bytes, index: int | None, path: str) -> bytes:
    """Return the salt of one field of a record (``index``), or of the header (None)."""
    where = "header" if index is None else str(index)
    return hmac.digest(key, f"field:{where}:{path}".encode(), "sha256")


def commitment(salt: bytes, value: Any) -> str:
    """Return the commitment to a value: HMAC-SHA-256 of its canonical JSON under its salt, as hexadecimal digits."""
    return hmac.digest(salt, canonical_json(value).encode("utf-8", "surrogatepass"), "sha256").hex()


SaltOf = Callable[[str], bytes]
"""Path → salt of the field there."""


def committed(value: Mapping[str, Any], leaves: list[Leaf], salt: SaltOf, withheld: Mapping[str, str]) -> Any:
    """Return what is digested of a header or record: the same, with a commitment in the place of each leaf.

    A leaf that is None is no secret and stands as it is, unless it is ``withheld``.

    Raises:
        KeyError: for a leaf whose salt is not known.
    """
    swapped: dict[int, dict[str, Any]] = {}
    for leaf in leaves:
        there = leaf.holder[leaf.name]
        kept = withheld.get(leaf.path)
        if kept is None and there is None:
            continue
        mark = {"commitment": commitment(salt(leaf.path), there) if kept is None else kept}
        swapped.setdefault(id(leaf.holder), {})[leaf.name] = mark
    return _swapped(value, swapped)


def _swapped(value: Any, swapped: Mapping[int, Mapping[str, Any]]) -> Any:
    if isinstance(value, dict):
        news = swapped.get(id(value))
        if news is None:
            return {key: _swapped(item, swapped) for key, item in value.items()}
        return {key: news[key] if key in news else _swapped(item, swapped) for key, item in value.items()}
    if isinstance(value, list):
        return [_swapped(item, swapped) for item in value]
    return value


def header_digest(header: Mapping[str, Any], salt: SaltOf, withheld: Mapping[str, str]) -> str:
    """Return the digest of a header (JSON-ready values); ``chain`` and ``redacted`` do not enter."""
    kept = {key: item for key, item in header.items() if key not in {"chain", "redacted"}}
    return _sha256({"chain": CHAIN_VERSION, "header": committed(kept, list(header_leaves(kept)), salt, withheld)})


def record_digest(entry: Mapping[str, Any], chain: Mapping[str, Any], salt: SaltOf) -> str:
    """Return the digest of an entry at the place that ``chain`` (index, previous, withheld) gives it."""
    kept = {key: item for key, item in entry.items() if key != "chain"}
    form = committed(kept, list(record_leaves(kept)), salt, chain.get("withheld") or {})
    return _sha256({"chain": CHAIN_VERSION, "index": chain["index"], "previous": chain["previous"], "record": form})


def _sha256(form: Any) -> str:
    return hashlib.sha256(canonical_json(form).encode("utf-8", "surrogatepass")).hexdigest()


class Chain:
    """The chain of a log that is being written, or written again from its key: one header, then record after record."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a log's key has {KEY_BYTES} bytes")
        self.key = key
        self.head = ""
        """Digest of the last record so far; of the header before the first."""
        self.n_records = 0

    def start(self, header: Mapping[str, Any]) -> HeaderChain:
        """Return the chain's start for a header without one."""
        self.head = header_digest(header, lambda path: salt_of(self.key, None, path), {})
        self.n_records = 0
        return HeaderChain(digest=self.head, key=self.key.hex())

    def link(self, entry: Mapping[str, Any]) -> RecordChain:
        """Return the next record's place."""
        index = self.n_records
        place = {"index": index, "previous": self.head}
        self.head = record_digest(entry, place, lambda path: salt_of(self.key, index, path))
        self.n_records += 1
        return RecordChain(index=index, previous=place["previous"], digest=self.head)

    def text_salt(self, text: str) -> str:
        """Return the salt of a passage's text, the same wherever the text stands in this log."""
        return text_salt(self.key, text).hex()


def text_salt(key: bytes, text: str) -> bytes:
    """Return the salt of a passage's text."""
    return hmac.digest(key, b"text:" + text.encode("utf-8", "surrogatepass"), "sha256")


def text_digest(salt: bytes, text: str) -> str:
    """Return the digest under which a passage's text stands in ``texts``."""
    return commitment(salt, text)


def sealed_name(key: bytes, name: str) -> str:
    """Return the name that a seal gives a file: a batch of dispositions has a digest of its texts in its own name."""
    kind, _, batch = name.partition("/")
    return f"{kind}/{commitment(salt_of(key, None, 'batch'), batch)[:16]}" if kind == "adjudications" else name


def file_commitment(key: bytes, name: str, file_digest: str) -> str:
    """Return the commitment to the bytes of a stored file: a seal carries it, also beside a redacted copy."""
    return commitment(salt_of(key, None, f"file:{name}"), file_digest)


# -- passages, once ---------------------------------------------------------------------------------------------


def parted(record: dict[str, Any], key: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a record (JSON-ready values) with the digest of each passage in the place of its text, and the texts."""
    texts: dict[str, str] = {}
    output = record["call"]["output"]
    for contexts in (record["case"]["contexts"], output["contexts"] if output else ()):
        for context in contexts:
            text = context.pop("text")
            name = None if text is None else text_digest(text_salt(key, text), text)
            context["text_digest"] = name
            if name is not None:
                texts[name] = text
    return record, texts


def rejoined(entry: Mapping[str, Any], texts: Mapping[str, str | None]) -> dict[str, Any]:
    """Return an entry as the record that it was made from, with its passages' texts.

    Raises:
        KeyError: for a digest that ``texts`` does not have.
    """
    withheld = (entry.get("chain") or {}).get("withheld") or {}
    case = dict(entry["case"])
    case["contexts"] = _with_texts(case["contexts"], texts)
    if any(path.startswith("case.criteria") for path in withheld):
        case["criteria"] = [c for i, c in enumerate(case["criteria"]) if f"case.criteria[{i}].target" not in withheld]
    call = dict(entry["call"])
    if call["output"] is not None:
        call["output"] = {**call["output"], "contexts": _with_texts(call["output"]["contexts"], texts)}
    rest = {name: item for name, item in entry.items() if name != "chain"}
    return {**rest, "case": case, "call": call}


def _with_texts(contexts: list[dict[str, Any]], texts: Mapping[str, str | None]) -> list[dict[str, Any]]:
    found = []
    for context in contexts:
        shown = {name: item for name, item in context.items() if name != "text_digest"}
        digest = context["text_digest"]
        found.append({**shown, "text": None if digest is None else texts[digest]})
    return found
