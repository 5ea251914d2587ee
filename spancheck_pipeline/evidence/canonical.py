"""The contract number, canonical JSON and digests: how two pieces of evidence are said to be the same.

What is digested belongs to the noun (``case.py``, ``grading/grader.py``); where it is stored belongs to ``storage``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final

CONTRACT: Final = 1
"""Number of the file formats. It changes when a format does (pinned by tests), and readers refuse another."""


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no blanks, no escapes beyond JSON's own, no NaN.

    Raises:
        ValueError: for NaN or an infinity.
        TypeError: for a value that JSON does not have.

    >>> canonical_json({"b": [1, None], "a": "é"})
    '{"a":"é","b":[1,null]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, as 64 hexadecimal digits.

    A lone surrogate, which UTF-8 does not have, is digested as its escaped self, so that every string has a digest.

    >>> digest({"a": 1})[:12]
    '015abd7f5cc5'
    """
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_list(items: Iterable[Any]) -> str:
    """Return the digest of the list of some items, with one of them in memory at a time.

    >>> digest_of_list(iter([1, "a"])) == digest([1, "a"])
    True
    """
    found = hashlib.sha256(b"[")
    for number, item in enumerate(items):
        found.update(("," if number else "").encode() + canonical_json(item).encode("utf-8", "surrogatepass"))
    found.update(b"]")
    return found.hexdigest()
