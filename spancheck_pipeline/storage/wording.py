"""How a mistake in a file that a user wrote is worded: nearest names, and what a file lacks.

A model's complaints and places in plain words are ``evidence/complaints.py``'s. Where the mistake stands (file and
line) is known to ``yaml_document.py`` and ``case_rows.py``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from spancheck_pipeline.evidence import complaints


def worded(detail: Mapping[str, Any]) -> str:
    """Return one complaint of a model about a file in plain words, with what to write where quotes are missing."""
    quoted = "; put it in quotes if it is one" if detail["type"] == "string_type" else ""
    return complaints.worded(detail) + quoted


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the fix for an unknown name: the nearest valid one, or all of them.

    >>> nearest("concurency", ["retries", "concurrency"])
    "did you mean 'concurrency'?"
    """
    names = sorted(known)
    if found := difflib.get_close_matches(name[:200], names, n=1, cutoff=0.6):
        return f"did you mean {found[0]!r}?"
    return f"valid here: {', '.join(names)}" if names else "leave it out"
