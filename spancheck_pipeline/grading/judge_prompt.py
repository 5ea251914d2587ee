"""The judge's question: the shipped prompts, the reply that they ask for, and a packet between delimiters.

The texts are the files in ``prompts/``. What goes into a packet lives in ``evidence/packet.py``; reading the reply in
``judge_reply.py``; sending the question in ``clients``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.packet import Packet, PacketKind
from spancheck_pipeline.evidence.run import storable

_CARRIES: Final = MappingProxyType(
    {"supported": 1.0, "partially_supported": 0.5, "not_supported": 0.0, "contradicted": 0.0}
)
LABEL_SCORES: Final[Mapping[PacketKind, Mapping[str, float]]] = MappingProxyType(
    {
        "entailment": _CARRIES,
        "groundedness": _CARRIES,
        "faithful": MappingProxyType({"holds": 1.0, "does_not_hold": 0.0}),
    }
)
"""Kind of packet → what a judge may say of it → the score that this stands for, in [0, 1]."""

_PART: Final = MappingProxyType({"entailment": "claim", "groundedness": "sentence", "faithful": "criterion"})
"""Kind of packet → what its claim is called in the question."""

_FIRST = "The mark of this message is {mark}."
_BEGIN = "<<<{part} begins {mark}>>>"
_END = "<<<{part} ends {mark}>>>"
_NO_PASSAGES = "There are no passages."
_LAST = "That was all. Reply with your verdict on it as one JSON object."
"""The frame of every question. It is part of the prompt's digest, as the file is."""

_MARK = re.compile(r"[A-Za-z0-9_-]{16,128}")


@dataclass(frozen=True)
class Prompt:
    """One version of one question. The whole of it is in its digest: text, frame, and the reply that is asked for."""

    name: str
    """``entailment_v1``: the file's name."""
    kind: PacketKind
    text: str
    """The instructions: a system turn of their own."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The words that a judge may say."""
        return tuple(LABEL_SCORES[self.kind])

    @property
    def scores(self) -> Mapping[str, float]:
        """What each label stands for, in [0, 1]."""
        return LABEL_SCORES[self.kind]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that a judge is asked and bound to, but for the packet."""
        frame = [_FIRST, _BEGIN, _END, _NO_PASSAGES, _LAST, _PART[self.kind]]
        return digest({"text": self.text, "frame": frame, "reply": schema_of(self), "scores": dict(self.scores)})


class Rendered(NamedTuple):
    """A question ready to be sent."""

    system: str
    """The instructions. They are the same for every packet, so that a provider can keep them."""
    user: str
    """The packet between delimiters that hold the mark."""


def load_prompt(version: str = "entailment_v1") -> str:
    """Return the text of a shipped prompt.

    Raises:
        UsageError: naming the nearest prompt that there is.
    """
    return prompt_named(version).text


def prompt_named(name: str) -> Prompt:
    """Return a shipped prompt.

    Raises:
        UsageError: naming the nearest prompt that there is.
    """
    if name in PROMPTS:
        return PROMPTS[name]
    near = difflib.get_close_matches(name[:80], list(PROMPTS), n=1, cutoff=0.5)
    fix = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(PROMPTS)}"
    raise UsageError(f"there is no prompt {name[:80]!r}; {fix}")


def schema_of(prompt: Prompt) -> dict[str, Any]:
    """Return the JSON Schema of the reply that a prompt asks for, in the part of the language that providers share."""
    return {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "label": {"type": "string", "enum": list(prompt.labels)}},
        "required": ["reason", "label"],
        "additionalProperties": False,
    }


def render(prompt: Prompt, packet: Packet, *, nonce: str) -> Rendered:
    """Return a prompt and a packet as the two turns of a question.

    ``nonce`` is the mark that every delimiter holds: 16 letters or digits or more, which nobody who wrote a text of the
    packet can have known (``nonce_of``, or a random one). A text without it cannot end its own part.

    Raises:
        ValueError: for a packet of another kind than the prompt's, a mark that is too short, or one that stands in a
            text of the packet.
    """
    if packet.kind != prompt.kind:
        raise ValueError(f"the prompt {prompt.name} asks about {prompt.kind}, and the packet is of {packet.kind}")
    if not _MARK.fullmatch(nonce):
        raise ValueError("a mark has 16 to 128 letters, digits, - or _")
    parts = [(part, storable(text)) for part, text in _parts(packet)]
    if any(nonce in text for _, text in parts):
        raise ValueError("the mark stands in the packet; bring another")
    return Rendered(prompt.text, "\n".join(_lines(parts, bool(packet.evidence), nonce)))


def nonce_of(packet: Packet) -> str:
    """Return a mark that is told by the packet itself, for a caller without randomness.

    A text that holds it would have to hold a part of its own SHA-256, which takes some 2**128 tries to write.
    """
    return digest(["mark", packet.digest])[:32]


def _parts(packet: Packet) -> Iterator[tuple[str, str]]:
    yield _PART[packet.kind], packet.claim
    n = len(packet.evidence)
    for at, text in enumerate(packet.evidence, start=1):
        yield (f"evidence {at} of {n}" if packet.kind == "entailment" else f"passage {at} of {n}"), text
    if packet.answer is not None:
        yield "answer", packet.answer


def _lines(parts: Iterable[tuple[str, str]], has_evidence: bool, mark: str) -> Iterator[str]:
    yield _FIRST.format(mark=mark)
    for part, text in parts:
        yield ""
        yield _BEGIN.format(part=part, mark=mark)
        yield text
        yield _END.format(part=part, mark=mark)
    if not has_evidence:
        yield ""
        yield _NO_PASSAGES
    yield ""
    yield _LAST


def _read(name: str, kind: PacketKind) -> Prompt:
    file = resources.files("spancheck_pipeline.grading") / "prompts" / f"{name}.txt"
    return Prompt(name, kind, file.read_text(encoding="utf-8").strip())


_SHIPPED: Final[tuple[tuple[str, PacketKind], ...]] = (
    ("entailment_v1", "entailment"),
    ("groundedness_v1", "groundedness"),
    ("faithful_v1", "faithful"),
)

PROMPTS: Final[Mapping[str, Prompt]] = MappingProxyType({name: _read(name, kind) for name, kind in _SHIPPED})
"""Every shipped prompt by name. A text never changes: a better one is a new version."""
