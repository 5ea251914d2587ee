"""The plain form of a text that phrases are looked for in, and the language that a text is in.

The phrases of each language live in ``phrasebook.py``; which languages are known, and the small words that tell them
apart, are data: ``abstention_patterns/languages.toml``.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final, NamedTuple

LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "ar", "zh", "ja", "ko")
"""Languages with a phrasebook."""


class Reading(NamedTuple):
    """What a text is written in."""

    language: str | None
    """ISO 639-1 code, or ``und-`` and the script for a script whose languages are not known here; None: too short."""
    script: str | None
    """None for a text without letters."""


@lru_cache(maxsize=4096)
def language_of(flat: str) -> Reading:
    """Return the language that a text is positively in, by its script and function words."""
    sample = flat[:4000]
    if sample.isascii():
        return Reading(_by_words(sample, "latin"), "latin") if _ASCII_LETTER.search(sample) else Reading(None, None)
    scripts = _scripts(sample)
    if not scripts:
        return Reading(None, None)
    script, count = scripts.most_common(1)[0]
    if scripts["kana"] * 10 >= count and script in {"han", "kana"}:
        return Reading("ja", "kana")
    return Reading(_by_words(sample, script), script)


def _by_words(sample: str, script: str) -> str | None:
    codes = data_file("languages")["by_script"].get(script, ())
    if len(codes) <= 1:
        return codes[0] if codes else f"und-{script}"
    hits = dict.fromkeys(codes, 0)
    users = _users(script)
    letters = _ASCII_LETTERS if sample.isascii() else _LETTERS
    for word, count in Counter(filter(users.__contains__, letters.findall(sample))).items():
        for code in users[word]:
            hits[code] += count
    best = max(hits, key=lambda code: hits[code])
    runner_up = max(count for code, count in hits.items() if code != best)
    needed = 2 if best in LANGUAGES else 3
    return best if hits[best] >= needed and hits[best] > runner_up else None


_LETTERS = re.compile(r"[^\W\d_]+")
_ASCII_LETTERS = re.compile("[A-Za-z]+")
_ASCII_LETTER = re.compile("[A-Za-z]")


def _scripts(sample: str) -> Counter[str]:
    """Return how many letters of each script a text has, the scripts in order of first mention."""
    scripts: Counter[str] = Counter()
    for character, count in Counter(sample).items():
        if character.isalpha():
            scripts[_script(character)] += count
    return scripts


@cache
def _users(script: str) -> dict[str, tuple[str, ...]]:
    """Return which languages of a script use each function word."""
    users: dict[str, tuple[str, ...]] = {}
    for code in data_file("languages")["by_script"][script]:
        for word in set(data_file("languages")["function_words"][code].split()):
            users[word] = (*users.get(word, ()), code)
    return users


@lru_cache(maxsize=65536)
def _script(character: str) -> str:
    name = unicodedata.name(character, "?").split()[0].split("-")[0]
    return {"CJK": "han", "HIRAGANA": "kana", "KATAKANA": "kana", "HALFWIDTH": "kana"}.get(name, name.lower())


def flatten(text: str) -> str:
    """Return a text lower-cased and plain, character for character, so that offsets stay the same.

    Typographic quotes, full-width marks and odd blanks become plain ones; Markdown emphasis, headings and quoted
    passages become blanks.
    """
    plain = text.translate(_PLAIN)
    if '"' not in plain:
        return plain
    return _QUOTED.sub(lambda match: '"' + " " * (len(match.group()) - 2) + '"', plain)


def has_digit(text: str) -> bool:
    """Whether a text holds a digit of any script."""
    return _DIGIT.search(text) is not None


_DIGIT = re.compile(r"\d")
_QUOTED = re.compile(r'(?<=\S\s)"[^"\n]{1,2000}"')
_TABLE = str.maketrans(
    dict.fromkeys("’‘ʼ`´", "'")
    | dict.fromkeys("“”„«»「」『』", '"')
    | dict.fromkeys("，、،", ",")
    | dict.fromkeys("；؛—", ";")
    | dict.fromkeys("–‐‑", "-")
    | dict.fromkeys("*#>_", " ")
    | dict.fromkeys("．…", ".")
    | {"｡": "。", "！": "!", "？": "?", "؟": "?", "：": ":", "（": "(", "）": ")"}
)


def _plain(character: str) -> str:
    """Return the one character that stands for a character: lower case, and a blank for what is not text."""
    lower = character.lower()
    plain = (lower if len(lower) == 1 else character).translate(_TABLE)
    if plain in {"\n", "。"} or "!" <= plain <= "~":
        return plain
    return plain if unicodedata.category(plain)[0] in "LMN" else " "


class _Plain(dict[int, str]):
    """What stands for each character, found when it is first met: a table for ``str.translate``."""

    def __missing__(self, code: int) -> str:
        if len(self) >= 65536:  # noqa: PLR2004 - no text can fill the memory
            self.clear()
        plain = self[code] = _plain(chr(code))
        return plain


_PLAIN = _Plain()


@cache
def data_file(name: str) -> dict[str, Any]:
    """Return one of the packaged data files, by its name without the ending."""
    folder = resources.files("spancheck_pipeline.grading") / "abstention_patterns"
    return tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))
