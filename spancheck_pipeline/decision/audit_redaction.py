"""Redacted copies of an audit log: what is left out, so that the copy still ends in the same chain.

A field is left out whole or not at all. What its commitment and salt are lives in ``audit_chain.py``; what personal
data is, in ``grading/pii.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from spancheck_pipeline.decision.audit_chain import (
    Leaf,
    commitment,
    header_leaves,
    record_leaves,
    salt_of,
)
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.canonical import canonical_json
from spancheck_pipeline.grading.pii import find_pii

GROUPS: Final = ("pii", "contexts", "answers", "questions")
"""``pii``: every field in which personal data is found. The others: all texts of that kind, and what quotes them."""


def check_groups(names: Iterable[str]) -> frozenset[str]:
    """Return names of groups as a set.

    Raises:
        UsageError: for none, or one that is no group.
    """
    found = frozenset(name.strip() for name in names if name.strip())
    if unknown := sorted(found - set(GROUPS)):
        raise UsageError(f"--redact {unknown[0][:80]!r}: no such group; there are {', '.join(GROUPS)}")
    if not found:
        raise UsageError(f"--redact names nothing; there are {', '.join(GROUPS)}")
    return found


class Redactor:
    """Makes the redacted copy of one log, entry by entry. ``key`` is the log's own; it does not enter the copy."""

    def __init__(self, groups: frozenset[str], key: bytes) -> None:
        self.groups = groups
        self._key = key
        self._pii: dict[str, bool] = {}
        """Digest of a passage → whether personal data was found in it."""

    def header(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Return the copy's header (JSON-ready values): marked, without the key and without digests of texts."""
        copy: dict[str, Any] = _copied(header)
        chain = copy.pop("chain")
        salts, withheld = self._leave_out(list(header_leaves(copy)), None, lambda _: True)
        copy["redacted"] = [name for name in GROUPS if name in self.groups]
        return {**copy, "chain": {**chain, "key": None, "salts": salts, "withheld": withheld}}

    def entry(self, entry: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
        """Return the copy's entry of a record; ``texts`` are those of its passages."""
        copy: dict[str, Any] = _copied(entry)
        chain = copy.pop("chain")
        leaves = list(record_leaves(copy))
        gone = {leaf.path for leaf in leaves if "digests" not in leaf.groups and self._goes(leaf)}
        hides = bool(gone) or any(not self.shows(name, text) for name, text in texts.items())
        salts, withheld = self._leave_out(
            leaves, chain["index"], lambda leaf: leaf.path in gone or (hides and "digests" in leaf.groups)
        )
        return {**copy, "chain": {**chain, "salts": salts, "withheld": withheld}}

    def shows(self, digest: str, text: str) -> bool:
        """Return whether the copy shows a passage's text."""
        if "contexts" in self.groups:
            return False
        if "pii" not in self.groups:
            return True
        if digest not in self._pii:
            self._pii[digest] = bool(find_pii(text))
        return not self._pii[digest]

    def _goes(self, leaf: Leaf) -> bool:
        value = leaf.holder[leaf.name]
        if value is None or value == leaf.blank:
            return False
        if leaf.groups & self.groups:
            return True
        return "pii" in self.groups and bool(find_pii(value if isinstance(value, str) else canonical_json(value)))

    def _leave_out(self, leaves: list[Leaf], index: int | None, goes: Any) -> tuple[dict[str, str], dict[str, str]]:
        """Blank what goes; return the salts of what stays, and the commitments to what went."""
        salts: dict[str, str] = {}
        withheld: dict[str, str] = {}
        for leaf in leaves:
            value = leaf.holder[leaf.name]
            if value is None:
                continue
            salt = salt_of(self._key, index, leaf.path)
            if goes(leaf):
                withheld[leaf.path] = commitment(salt, value)
                leaf.holder[leaf.name] = _copied(leaf.blank)
            else:
                salts[leaf.path] = salt.hex()
        return salts, withheld


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value


__all__ = ["GROUPS", "Redactor", "check_groups"]
