"""The lexicon: word lists that support is read with, from the data file ``lexicon.toml`` beside this module.

What the words mean for a claim is said in the modules that use them.
"""

from __future__ import annotations

import hashlib
import tomllib
from importlib import resources
from typing import Any, Final

_RAW: Final = resources.files(__package__).joinpath("lexicon.toml").read_bytes()

LEXICON: Final[dict[str, Any]] = tomllib.loads(_RAW.decode("utf-8"))

DIGEST: Final = hashlib.sha256(_RAW).hexdigest()[:16]
"""First 16 hexadecimal digits of the file's SHA-256: a part of the spec of every grader that checks support."""


def word_set(key: str) -> frozenset[str]:
    """Return a list of the lexicon as a set."""
    return frozenset(LEXICON[key].split())


def by_word(table: str, *, divided_by: str | None = None) -> dict[str, str]:
    """Return a table of the lexicon turned round: each word to the key that it stands under."""
    return {word: key for key, words in LEXICON[table].items() for word in words.split(divided_by)}
