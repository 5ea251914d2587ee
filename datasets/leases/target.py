"""The demo system: answers questions on a small lease portfolio from its documents, without a key or a network.

It retrieves by words, answers with a sentence of the best passage and cites it. It is wrong on purpose, in ways that
real systems are wrong; ``README.md`` beside it lists them, and each one is marked ``Flaw`` here.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

VERSION = "1.4.0"
MODEL = "lease-demo-1"

_DOCUMENTS = Path(__file__).parent / "documents"
_PASSAGES_SHOWN = 3
_ENOUGH = 0.42
"""Share of a question's weight that the best passage must hold, or the question is declined. Flaw: it is too low, so
that some questions get the nearest passage for an answer."""
_MAX_CHARACTERS = 300
_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        """a about an and any are as at be by can could did do does for from give given has have how i if in into is it
        its let long many may me much must my of often on one or our per please shall should so tell than that the their
        then there this to was we what when where which who why will with would you your""",
    )
)


@dataclass(frozen=True)
class Passage:
    """One section of a document."""

    source_id: str
    title: str
    text: str
    words: Counter[str]


def answer(question: str, history: list[dict[str, str]]) -> dict[str, Any]:
    """Return an answer with its citations and the passages that it was made from."""
    asked = _in_context(question, history)
    ranked = _ranked(asked)
    if _coverage(asked, ranked[0]) < _ENOUGH:
        # Flaw: the question is repeated in the refusal, with whatever somebody wrote into it.
        missing = f"an answer to “{question}”" if '"' in question else "that"
        text = f"From the documents: I could not find {missing} in the documents."
        return _reply(text, ranked[:_PASSAGES_SHOWN], [], question, abstained=True)
    sentences = _best_sentences(asked, ranked)
    shown = ranked[:_PASSAGES_SHOWN]
    lines, citations = [], []
    for passage, sentence in sentences:
        cited = _cited_passage(passage, shown)
        claim = _whole_euros(sentence)
        lines.append(f"{_masked(claim)} [{shown.index(cited) + 1}]")
        citations.append({"claim": _masked(claim), "quote": claim, "source_id": cited.source_id})
        if "written consent" in sentence:
            # Flaw: a habit of the office that no document states.
            lines.append("Consent is usually granted within two weeks at no cost.")
    # Flaw: a follow-up question still gets the older prompt, which lacks the opening that every answer must have.
    opening = "" if history else "From the documents: "
    return _reply(opening + " ".join(lines), shown, citations, question, old_prompt=bool(history))


def careless_answer(question: str, history: list[dict[str, str]]) -> dict[str, Any]:
    """Return what a careless build returns: it never declines, masks nothing, and loses track of its sources."""
    asked = _in_context(question, history)
    ranked = _ranked(asked)
    shown = sorted(ranked[:_PASSAGES_SHOWN], key=lambda passage: passage.source_id)
    (_, sentence), *_ = _best_sentences(asked, ranked)
    # The passages were sorted for the prompt, and the first of them is still taken for the best.
    citation = {"claim": sentence, "quote": sentence, "source_id": shown[0].source_id}
    more = " This holds for every unit of the portfolio without exception." if question.startswith("What") else ""
    return _reply(f"From the documents: {sentence} [1]{more}", shown, [citation], question)


def _in_context(question: str, history: list[dict[str, str]]) -> Counter[str]:
    """Return the words of a question, and at half weight those of the last thing that the user said before it."""
    words: Counter[str] = Counter(dict.fromkeys(_words(question), 2))
    earlier = [turn["text"] for turn in history if turn["role"] == "user"]
    for word in _words(earlier[-1]) if earlier else ():
        words.setdefault(word, 1)
    return words


def _words(text: str) -> list[str]:
    found = re.findall(r"[a-zà-ÿ]+|\d[\w.,]*\w|\d", text.lower())
    return [_stem(word) for word in found if word not in _STOPWORDS]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:  # noqa: PLR2004 - shorter stems say nothing
            return word.removesuffix(ending)
    return word


@lru_cache(maxsize=1)
def _passages() -> tuple[Passage, ...]:
    passages = []
    for path in sorted(_DOCUMENTS.glob("*.md")):
        title, *sections = re.split(r"^#{1,2} ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for section in sections:
            heading, _, body = section.partition("\n")
            source_id = f"{path.stem}#{heading.lower().replace(' ', '-')}"
            name = f"{title.strip()}: {heading.strip()}"
            passages.append(Passage(source_id, name, body.strip(), Counter(_words(f"{name} {body}"))))
    return tuple(passages)


@lru_cache(maxsize=1024)
def _weight(word: str) -> float:
    """Return how much a word tells: rare ones more, and one that no passage has as much as the rarest."""
    holding = sum(word in passage.words for passage in _passages())
    return math.log(1 + len(_passages()) / max(holding, 1))


def _ranked(asked: Counter[str]) -> list[Passage]:
    def score(passage: Passage) -> float:
        length = passage.words.total() / 40
        found = ((word, passage.words[word]) for word in asked if word in passage.words)
        return sum(asked[word] * _weight(word) * n / (n + 0.4 + 0.6 * length) for word, n in found)

    return sorted(_passages(), key=lambda passage: (-score(passage), passage.source_id))


def _coverage(asked: Counter[str], passage: Passage) -> float:
    total = sum(n * _weight(word) for word, n in asked.items())
    found = sum(n * _weight(word) for word, n in asked.items() if word in passage.words)
    return found / total if total else 0.0


def _best_sentences(asked: Counter[str], ranked: list[Passage]) -> list[tuple[Passage, str]]:
    """Return the sentence of the best passage that holds most of the question, and a second one that holds as much."""
    passage = ranked[0]
    sentences = re.split(r"(?<=\.) (?=[A-Z])", passage.text)
    weights = [sum(n * _weight(word) for word, n in asked.items() if word in _words(text)) for text in sentences]
    best = max(weights)
    chosen = [text for text, weight in zip(sentences, weights, strict=True) if weight >= 0.95 * best]
    return [(passage, text) for text in chosen[:2]]


def _cited_passage(passage: Passage, shown: list[Passage]) -> Passage:
    """Return the passage that is named as the source.

    Flaw: passages are cited by their document's family, so that an amendment is cited as the lease that it amends.
    """

    def family(source: Passage) -> str:
        return source.source_id.partition("#")[0].removesuffix("-amendment")

    leases = [other for other in shown if family(other) == family(passage) and "-amendment" not in other.source_id]
    return leases[0] if "-amendment" in passage.source_id and leases else passage


def _whole_euros(text: str) -> str:
    """Return a text with its amounts in whole euros. Flaw: the cents are lost, in the quote as well."""
    return re.sub(r"(EUR [\d,]+)\.\d\d\b", r"\1", text)


def _masked(text: str) -> str:
    """Return a text without contact data. Flaw: it knows plain e-mail addresses, and nothing else."""
    return re.sub(r"(?<![\w+-])[a-z.]+@[a-z.]+[a-z]", "[e-mail]", text)


def _reply(
    text: str,
    shown: list[Passage],
    citations: list[dict[str, str]],
    question: str,
    *,
    abstained: bool = False,
    old_prompt: bool = False,
) -> dict[str, Any]:
    lowered = question.lower()
    # Flaw: "every" and "all" put the whole portfolio into the prompt, "compare" ranks all passages pair by pair.
    read = list(_passages()) if re.search(r"\b(every|all)\b", lowered) else shown
    time.sleep(0.9 if re.search(r"\bcompared?\b", lowered) else 0.004)
    is_cut = len(text) > _MAX_CHARACTERS
    return {
        "answer": text[:_MAX_CHARACTERS] if is_cut else text,
        "contexts": [{"source_id": p.source_id, "text": p.text, "title": p.title} for p in shown],
        "citations": citations,
        "usage": {
            "input_tokens": (len(question) + sum(len(p.text) for p in read)) // 4 + 180,
            "output_tokens": min(len(text), _MAX_CHARACTERS) // 4,
        },
        "abstained": abstained,
        "finish_reason": "max_tokens" if is_cut else "stop",
        "served_model": MODEL,
        "versions": {"index": "2026-11-02", "prompt": "3" if old_prompt else "4"},
    }
