"""The judge's reply: hostile text until a verdict was found in it that nothing else in it disputes.

What is asked lives in ``judge_prompt.py``; what verdicts come to in ``judge.py``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.evidence.run import storable
from spancheck_pipeline.grading.judge_prompt import Prompt

MOST_READ: Final = 100_000
"""Characters of a reply. No judge says more; a longer one is not read."""
_MOST_TRIES: Final = 500
"""Braces of one text that are tried as the beginning of an object, so that braces alone cannot cost time."""
_MOST_DEEP: Final = 5
"""How deep in other objects a verdict may be wrapped."""
_MOST_VERDICTS: Final = 50
"""Verdicts that are compared with each other and with the packet."""
_REASON_CHARS: Final = 2_000


_HALF: Final = 0.5
"""The middle between no and yes; what a partial verdict is worth at most."""


class UnreadableVerdictError(ValueError):
    """A reply in which there is no one verdict. The message says why, and never what the reply says."""

    def __init__(self, why: str, code: str) -> None:
        super().__init__(why)
        self.code = code
        """The same in a word, for counts: ``no_json``, ``no_label``, ``unknown_label``, ``no_reason``, ``bad_score``,
        ``label_against_score``, ``key_twice``, ``verdicts_differ``, ``only_echo``, ``too_long``."""

    @property
    def error_class(self) -> str:
        """What is counted and recorded: the class with the code."""
        return f"{type(self).__name__}.{self.code}"


class Parsed(NamedTuple):
    """What a judge said."""

    label: str
    score: float
    """In [0, 1]: the label's, or the judge's own where it gives one; a partial verdict's is at most 0.5."""
    reason: str
    """The judge's words; empty where it gives none."""


def parse_reply(prompt: Prompt, text: str, structured: Mapping[str, Any] | None = None, *, packet: Packet) -> Parsed:
    """Return the verdict that a reply about a packet holds.

    A client's own structured output is the verdict. In a text, every JSON object with a ``label`` counts, be it in a
    fence, in prose or wrapped in another object; those that the packet itself holds are echoes and do not. All that are
    left must be well formed and say the same; else nobody can tell which is the judge's. A verdict without a reason
    counts where it is the client's own, or all that the text holds.

    Raises:
        UnreadableVerdictError: where there is no verdict, or no one verdict.
    """
    if structured is not None:
        return _read(prompt, dict(structured), may_be_bare=True)
    if len(text) > MOST_READ:
        why = f"the reply has {len(text)} characters, and at most {MOST_READ} are read"
        raise UnreadableVerdictError(why, "too_long")
    said_at_last = _without_thoughts(text)
    found = list(islice(_verdicts(said_at_last), _MOST_VERDICTS + 1))
    if len(found) > _MOST_VERDICTS:
        raise UnreadableVerdictError(f"the reply holds more than {_MOST_VERDICTS} verdicts", "verdicts_differ")
    said = _not_of(packet, found)
    if not said:
        raise UnreadableVerdictError(
            f"the reply of {len(text)} characters holds no verdict", _why_none(said_at_last, is_echo=bool(found))
        )
    may_be_bare = len(found) == 1 and _is_one_object(said_at_last)
    read = [_read(prompt, item, may_be_bare=may_be_bare) for item in said]
    if any((one.label, one.score) != (read[-1].label, read[-1].score) for one in read):
        raise UnreadableVerdictError(f"the reply holds {len(read)} verdicts that differ", "verdicts_differ")
    return read[-1]


def _why_none(text: str, *, is_echo: bool) -> str:
    """Return in a word why a text holds no verdict of the judge's own."""
    if is_echo:
        return "only_echo"
    return "no_label" if any(isinstance(thing, dict) for thing in _objects(text)) else "no_json"


def _is_one_object(text: str) -> bool:
    """Whether a text is one JSON object and nothing else, in a fence or without one."""
    fenced = _FENCE.fullmatch(text.strip())
    try:
        return isinstance(_DECODER.decode(fenced[1] if fenced else text.strip()), dict)
    except (ValueError, RecursionError):
        return False


_FENCE = re.compile(r"```(?:json)?\s*(\{[^`]*\})\s*```")


def _read(prompt: Prompt, item: Mapping[str, Any], *, may_be_bare: bool) -> Parsed:
    if _TWICE in item:
        raise UnreadableVerdictError("the verdict has a key twice", "key_twice")
    label, reason, score = item.get("label"), item.get("reason"), item.get("score")
    word = re.sub(r"[\s-]+", "_", label.strip().lower()) if isinstance(label, str) else ""
    if word not in prompt.labels:
        code = "unknown_label" if isinstance(label, str) else "no_label"
        raise UnreadableVerdictError(f"the verdict's label is none of {', '.join(prompt.labels)}", code)
    if reason is None and may_be_bare:
        reason = ""
    if not isinstance(reason, str):
        raise UnreadableVerdictError("the verdict has no reason", "no_reason")
    value = prompt.scores[word] if score is None else _score(score, prompt, word)
    return Parsed(word, value, " ".join(storable(reason).split())[:_REASON_CHARS])


def _score(score: Any, prompt: Prompt, label: str) -> float:
    """Return a judge's own score, which must be on its label's side: it may have meant how sure it is of the label.

    So a partial verdict is worth 0.5 at most, however sure the judge is that it is one.
    """
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise UnreadableVerdictError("the verdict's score is no number in [0, 1]", "bad_score")
    usual = prompt.scores[label]
    if (usual == 1 and score < _HALF) or (usual == 0 and score > _HALF):
        raise UnreadableVerdictError("the verdict's label and its score say opposite things", "label_against_score")
    return min(float(score), _HALF) if usual == _HALF else float(score)


def _without_thoughts(text: str) -> str:
    """Return a reply without the thoughts that open it: some local models put drafts there."""
    head = text.lstrip()
    if not head.startswith("<think>"):
        return text
    return head.rpartition("</think>")[2] if "</think>" in head else ""


def _not_of(packet: Packet, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the objects that the packet's own texts do not hold, however they were quoted there or here."""
    if not items:
        return items
    texts = [_letters(text) for text in (packet.claim, *packet.evidence, packet.answer or "")]
    return [item for item in items if not any(all(pair in text for pair in _pairs_of(item)) for text in texts)]


def _pairs_of(item: Mapping[str, Any]) -> list[str]:
    return [_letters(f"{key}{item[key]}") for key in ("label", "reason") if key in item]


_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[bfnrt])")
_NO_LETTER = re.compile(r"[\W_\U00010000-\U0010ffff]+")


def _letters(text: str) -> str:
    """Return the letters and digits of a text, its JSON escapes read, so that quoting and layout do not count."""
    plain = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else "", text)
    return _NO_LETTER.sub("", plain).lower()


def _verdicts(text: str) -> Iterator[dict[str, Any]]:
    for thing in _objects(text):
        yield from _labelled(thing, 0)


def _labelled(thing: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Yield the outermost objects with a label."""
    if isinstance(thing, dict) and "label" in thing:
        yield thing
    elif depth < _MOST_DEEP and isinstance(thing, dict | list):
        for item in thing.values() if isinstance(thing, dict) else thing:
            yield from _labelled(item, depth + 1)


def _objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects that stand in a text, each outermost one once.

    Raises:
        UnreadableVerdictError: where so many braces open nothing that the text is no reply.
    """
    at = 0
    for _ in range(_MOST_TRIES):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            thing, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        yield thing
    if text.find("{", at) >= 0:
        raise UnreadableVerdictError("the text holds too many braces that open no object", "no_json")


_TWICE = "\0twice"
"""Marks an object in which a key stands twice: it says nothing for sure. No JSON text of a judge has this key."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    return made if len(made) == len(pairs) else {**made, _TWICE: True}


def _no_number(word: str) -> float:
    raise ValueError(f"JSON has no {word}")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number("infinity")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_number, parse_float=_finite)
