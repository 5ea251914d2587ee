"""Following the chain of an audit log: the first record that was changed, removed, added or moved.

It takes a log piece by piece, so that a log of any size is checked in bounded memory. Nothing is validated as a model
here: what is digested is exactly what stands in the file. Naming the fault lives in ``audit_faults.py``,
reading files in ``storage/audit_files.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from spancheck_pipeline.decision.audit_chain import (
    CHAIN_VERSION,
    KEY_BYTES,
    HeaderChain,
    Leaf,
    RecordChain,
    SaltOf,
    header_digest,
    header_leaves,
    record_digest,
    record_leaves,
    salt_of,
    text_digest,
    text_salt,
)
from spancheck_pipeline.decision.audit_faults import Before, Fault, Seen, What, first_fault
from spancheck_pipeline.decision.audit_seal import Seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What following a chain found."""

    fault: Fault | None
    n_records: int
    head: str
    """Digest that the last record carries."""
    header: str
    n_withheld: int = 0
    """Fields that the copy leaves out, passages included."""
    redacted: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.fault is None


class ChainCheck:
    """Follows one log: its ``chain`` first, then texts and records in any order, then ``finish`` with its header."""

    def __init__(self, chain: Mapping[str, Any]) -> None:
        self._chain = chain
        key = chain.get("key")
        self._key = bytes.fromhex(key) if _is_hex(key, KEY_BYTES) else None
        self._broken = "" if key is None or self._key is not None else "the header's key is no key"
        self._header = str(chain.get("digest"))
        self._good: list[str] = [self._header]
        """The last two digests that were as they should be, the newest last."""
        self._last: Seen | None = None
        self._rest: list[Seen] = []
        """Records from the first that is not as it should be; empty while everything is."""
        self._n_good = 0
        self._n_withheld = 0
        self._used: dict[str, int] = {}
        """Digest of a passage → number of the first record that uses it."""
        self._texts: set[str] = set()
        self._bad_texts: dict[str, str] = {}
        self._unreadable = ""

    # -- pieces -------------------------------------------------------------------------------------------------

    def text(self, digest: str, entry: Any) -> None:
        """Take a passage's text."""
        if digest in self._texts:
            self._bad_texts.setdefault(digest, "its text stands twice")
        self._texts.add(digest)
        if why := self._wrong_text(digest, entry):
            self._bad_texts.setdefault(digest, why)

    def record(self, entry: Any, why: str = "") -> None:
        """Take the next record; ``why`` says what is wrong with how it is stored, where it is not the record itself."""
        seen = self._seen(entry)
        if why and seen.is_intact:
            seen = seen._replace(is_intact=False, why=why)
        if self._rest or not self._follows(seen):
            self._rest.append(seen)
            return
        self._n_good += 1
        self._good = [self._good[-1], seen.digest]
        self._last = seen

    def unreadable(self, why: str) -> None:
        """Say that the file cannot be read beyond here."""
        self._unreadable = why

    def finish(self, header: Mapping[str, Any], *, seal: Seal | None = None, head: str | None = None) -> Checked:
        """Return what was found; ``seal`` and ``head`` are what is known of the log from elsewhere."""
        n_records = self._n_good + len(self._rest)
        withheld, marks = self._chain.get("withheld"), header.get("redacted")
        last = self._rest[-1] if self._rest else self._last
        faults = [
            None if self._unreadable else self._header_fault(header),  # of a part of a file there is a part of it
            self._record_fault(seal.head if seal else head),
            self._text_fault(),
            self._end_fault(header, n_records),
            self._rewritten(header, last.digest if last else self._header, n_records, seal=seal, head=head),
        ]
        known = [fault for fault in faults if fault is not None]
        # By place; what is known of the whole log comes after what can be named.
        known.sort(key=_place_of)
        return Checked(
            fault=known[0] if known else None,
            n_records=n_records,
            head=last.digest if last else self._header,
            header=self._header,
            n_withheld=self._n_withheld + (len(withheld) if isinstance(withheld, dict) else 0),
            redacted=tuple(map(str, marks)) if isinstance(marks, list) else (),
        )

    # -- header -------------------------------------------------------------------------------------------------

    def _header_fault(self, header: Mapping[str, Any]) -> Fault | None:
        if self._broken:
            return Fault(what=What.HEADER, number=None, detail=f"the header was changed: {self._broken}")
        if self._chain.get("version") != CHAIN_VERSION:
            detail = f"the header was changed: chain version {self._chain.get('version')!r} is not known here"
            return Fault(what=What.HEADER, number=None, detail=detail)
        try:
            leaves = list(header_leaves({**header}))
            salt = self._salts(self._chain, None, leaves)
            digest = header_digest(header, salt, self._chain.get("withheld") or {})
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            return Fault(what=What.HEADER, number=None, detail=f"the header was changed: {_why(error)}")
        if digest == self._header:
            return None
        return Fault(what=What.HEADER, number=None, detail="the header was changed: it is not what its digest is of")

    # -- texts --------------------------------------------------------------------------------------------------

    def _wrong_text(self, digest: str, entry: Any) -> str:
        if not isinstance(entry, Mapping) or set(entry) != {"salt", "text"}:
            return "the text of a passage is malformed"
        salt, text = entry["salt"], entry["text"]
        if salt is None and text is None and self._key is None:
            self._n_withheld += 1
            return ""
        if not isinstance(text, str) or not _is_hex(salt, KEY_BYTES):
            return "the text of a passage was taken out, in a log that is not redacted"
        if self._key is not None and text_salt(self._key, text).hex() != salt:
            return "the text of a passage was changed"
        return "" if text_digest(bytes.fromhex(salt), text) == digest else "the text of a passage was changed"

    def _text_fault(self) -> Fault | None:
        for name in self._used:
            if name not in self._texts and not self._unreadable:  # it may stand beyond the place where the file ends
                self._bad_texts.setdefault(name, "the text of a passage is missing")
        for name in self._texts:
            if name not in self._used:
                self._bad_texts.setdefault(name, "the text of a passage was added: no record has it")
        if not self._bad_texts:
            return None
        name = min(self._bad_texts, key=lambda name: (name not in self._used, self._used.get(name, 0), name))
        number = self._used.get(name)
        what = What.ADDED if number is None else What.CHANGED
        return Fault(what=what, number=number, detail=f"{self._bad_texts[name]} (text {name[:12]}…)")

    # -- records ------------------------------------------------------------------------------------------------

    def _seen(self, entry: Any) -> Seen:
        """Return what a record says of its place, and whether it is what its digest is of."""
        number = self._n_good + len(self._rest) + 1
        case_id, epoch = _names(entry)
        chain = entry.get("chain") if isinstance(entry, Mapping) else None
        if not isinstance(chain, Mapping):
            return Seen(None, None, "", is_intact=False, why="it carries no digest", case_id=case_id, epoch=epoch)
        claimed = (chain.get("index"), chain.get("previous"), str(chain.get("digest")))
        try:
            leaves = list(record_leaves({**entry}))
            salt = self._salts(chain, chain["index"], leaves)
            is_intact = record_digest(entry, chain, salt) == claimed[2]
            why = "" if is_intact else "it is not what its digest is of"
            for digest in _passages(entry):
                self._used.setdefault(digest, number)
            self._n_withheld += len(chain.get("withheld") or {})
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            is_intact, why = False, _why(error)
        return Seen(*claimed, is_intact=is_intact, why=why, case_id=case_id, epoch=epoch)

    def _salts(self, chain: Mapping[str, Any], index: Any, leaves: list[Leaf]) -> SaltOf:
        """Return where the salts of a header or record come from, and see that what is said of them is in order."""
        salts, withheld = chain["salts"], chain["withheld"]
        by_path = {leaf.path: leaf for leaf in leaves}
        model = HeaderChain if index is None else RecordChain
        if set(chain) != set(model.model_fields) or not isinstance(salts, dict) or not isinstance(withheld, dict):
            raise ValueError("its chain is malformed")
        for path in withheld:
            leaf = by_path.get(path)
            if leaf is None or leaf.holder[leaf.name] != leaf.blank:
                raise ValueError("something stands where a field is said to be left out")
        if self._key is not None:
            if salts or withheld:
                raise ValueError("a field was taken out, in a log that is not redacted")
            key = self._key
            return lambda path: salt_of(key, index, path)
        shown = {p for p, leaf in by_path.items() if p not in withheld and leaf.holder[leaf.name] is not None}
        if set(salts) != shown or not all(_is_hex(salt, KEY_BYTES) for salt in salts.values()):
            raise ValueError("its salts are not those of the fields that it shows")
        return lambda path: bytes.fromhex(salts[path])

    def _follows(self, seen: Seen) -> bool:
        return seen.is_intact and seen.place == self._n_good and seen.previous == self._good[-1]

    def _record_fault(self, head: str | None) -> Fault | None:
        if not self._rest:
            return None
        before = Before(self._n_good, self._last, head=self._good[-1], head_before=self._good[0])
        return first_fault(before, self._rest, head)

    # -- the end ------------------------------------------------------------------------------------------------

    def _end_fault(self, header: Mapping[str, Any], n_records: int) -> Fault | None:
        """Say that records are missing or too many at the end: the header, which the chain covers, counts them."""
        summary = header.get("summary")
        n_rows = summary.get("n_rows") if isinstance(summary, Mapping) else None
        if self._unreadable and n_records == n_rows:
            detail = f"after all {n_rows} records, among the texts of their passages: {self._unreadable}"
            return Fault(what=What.TRUNCATED, number=None, detail=detail)
        if self._unreadable:
            return Fault(what=What.TRUNCATED, number=n_records + 1, detail=f"cannot be read: {self._unreadable}")
        if self._rest or not isinstance(n_rows, int) or n_records == n_rows:
            return None
        if n_records > n_rows:
            detail = f"was added, with all after it: the header counts {n_rows} records"
            return Fault(what=What.ADDED, number=n_rows + 1, detail=detail)
        detail = f"is missing, and all after it: the log ends after {n_records} of {n_rows} records"
        return Fault(what=What.TRUNCATED, number=n_records + 1, detail=detail)

    def _rewritten(
        self, header: Mapping[str, Any], found: str, n_records: int, *, seal: Seal | None, head: str | None
    ) -> Fault | None:
        """Compare a log with what is known of it from elsewhere."""
        if head is not None and found != head.lower():
            detail = f"the log ends in {found[:16]}…, not in the head that was given, {head[:16]}…"
            return Fault(what=What.REWRITTEN, number=None, detail=detail)
        if seal is None:
            return None
        differing = {
            "head": (found, seal.head),
            "header digest": (self._header, seal.header),
            "number of records": (n_records, seal.n_records),
            "run id": (header.get("run_id"), seal.run_id),
            "suite": (header.get("suite"), seal.suite),
            "date": (header.get("date"), seal.date),
            "schema version": (header.get("schema_version"), seal.schema_version),
        }
        for name, (here, sealed) in differing.items():
            if here != sealed:
                said = f"its {name} is {_short(here)}, the seal's {_short(sealed)}"
                return Fault(what=What.REWRITTEN, number=None, detail=f"this is not the log that was sealed: {said}")
        return None


def _place_of(fault: Fault) -> tuple[bool, bool, bool, int]:
    return (
        fault.what is What.REWRITTEN,
        fault.what is not What.HEADER,
        fault.number is None,
        fault.number or 0,
    )


def _names(entry: Any) -> tuple[str | None, int | None]:
    """Return case id and epoch of an entry, as far as it has them."""
    try:
        case_id, epoch = entry["case"]["id"], entry["call"]["epoch"]
    except (KeyError, TypeError):
        return None, None
    return (case_id if isinstance(case_id, str) else None), (epoch if isinstance(epoch, int) else None)


def _passages(entry: Mapping[str, Any]) -> list[str]:
    output = entry["call"]["output"]
    contexts = [*entry["case"]["contexts"], *(output["contexts"] if output else ())]
    found = [context["text_digest"] for context in contexts if context["text_digest"] is not None]
    if not all(isinstance(digest, str) for digest in found):
        raise ValueError("a passage's digest is none")
    return found


def _why(error: Exception) -> str:
    """Return what is malformed, without quoting: only our own messages are repeated."""
    return str(error) if type(error) is ValueError else f"it is malformed ({type(error).__name__})"


def _is_hex(value: object, n_bytes: int) -> TypeGuard[str]:
    if not isinstance(value, str) or len(value) != 2 * n_bytes:
        return False
    return all(character in "0123456789abcdef" for character in value)


def _short(value: object) -> str:
    return repr(value if not isinstance(value, str) or len(value) <= 40 else f"{value[:16]}…")  # noqa: PLR2004 - a digest


__all__ = ["ChainCheck", "Checked", "Fault", "What"]
