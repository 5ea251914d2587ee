"""A small retrieval system over the passages of a CLAPNQ cases file: what a first afternoon's work might be.

Passages are ranked by BM25. The answer is the two sentences of the best passage that share most words with the
question, each with its citation; a question of which the best passage holds too little is declined. Nothing here was
fitted to the questions.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

VERSION = "1"

_CASES = Path(__file__).parent / "cases.jsonl"
_K1, _B = 1.2, 0.75
"""The usual constants of BM25."""
_ENOUGH = 0.5
"""A passage that holds less than half of a question's weight is not taken for an answer."""
_SHOWN = 5
_COMMON = frozenset(re.findall(r"\w+", "a an and are as at be by did do for in is it its of on or the to was with"))


class Passage(NamedTuple):
    """One passage and its words."""

    source_id: str
    title: str
    text: str
    words: Counter[str]


class Index(NamedTuple):
    """All passages, and for each word how much it tells and where it stands."""

    passages: tuple[Passage, ...]
    weights: dict[str, float]
    places: dict[str, list[int]]
    mean_length: float


def answer(question: str) -> dict[str, Any]:
    """Return an answer with citations, or decline."""
    return _answer(question, enough=_ENOUGH)


def always_answer(question: str) -> dict[str, Any]:
    """Return an answer whatever was asked."""
    return _answer(question, enough=0.0)


def _answer(question: str, *, enough: float) -> dict[str, Any]:
    asked = set(_words(question)) - _COMMON
    shown = _ranked(asked)[:_SHOWN]
    contexts = [{"source_id": p.source_id, "title": p.title, "text": p.text} for p in shown]
    if not shown or _share(asked, shown[0]) < enough:
        text = "The passages do not say."
        return {"answer": text, "contexts": contexts, "citations": [], "abstained": True}
    sentences = _best_sentences(asked, shown[0])
    return {
        "answer": " ".join(f"{sentence} [1]" for sentence in sentences),
        "contexts": contexts,
        "citations": [{"claim": s, "quote": s, "source_id": shown[0].source_id} for s in sentences],
        "abstained": False,
    }


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@lru_cache(maxsize=1)
def _index() -> Index:
    passages: dict[str, Passage] = {}
    with _CASES.open(encoding="utf-8") as lines:
        for line in lines:
            for context in json.loads(line)["contexts"]:
                words = Counter(_words(f"{context['title']} {context['text']}"))
                passages[context["source_id"]] = Passage(context["source_id"], context["title"], context["text"], words)
    kept = tuple(passages.values())
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, passage in enumerate(kept):
        for word in passage.words:
            places[word].append(number)
    weights = {word: math.log(1 + (len(kept) - len(at) + 0.5) / (len(at) + 0.5)) for word, at in places.items()}
    return Index(kept, weights, dict(places), sum(p.words.total() for p in kept) / len(kept))


def _ranked(asked: set[str]) -> list[Passage]:
    index = _index()
    scores: defaultdict[int, float] = defaultdict(float)
    for word in sorted(asked & index.places.keys()):
        for number in index.places[word]:
            words = index.passages[number].words
            length = 1 - _B + _B * words.total() / index.mean_length
            scores[number] += index.weights[word] * words[word] * (_K1 + 1) / (words[word] + _K1 * length)
    return [index.passages[number] for number, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


def _share(asked: set[str], passage: Passage) -> float:
    """Return how much of a question's weight a passage holds; a word of no passage weighs as much as the rarest."""
    weights = _index().weights
    rarest = max(weights.values())
    total = sum(weights.get(word, rarest) for word in sorted(asked))
    return sum(weights[word] for word in sorted(asked) if word in passage.words) / total if total else 0.0


def _best_sentences(asked: set[str], passage: Passage) -> list[str]:
    """Return the two sentences that hold most of the question, in the passage's order."""
    weights = _index().weights
    sentences = [text.strip() for text in re.split(r"(?<=[.!?]) +(?=[A-Z\"`(])", passage.text) if text.strip()]
    held = [sum(weights.get(word, 0.0) for word in sorted(asked & set(_words(text)))) for text in sentences]
    best = sorted(range(len(sentences)), key=lambda number: (-held[number], number))[:2]
    return [sentences[number] for number in sorted(best)]
