"""The judge: what makes it the same judge, which verdicts it needs, and what recorded verdicts come to.

Its question is worded in ``judge_prompt.py`` and its reply read in ``judge_reply.py``; calling it is a capture
(``clients``, ``api/judging.py``), so that nothing here can. Whether it is trusted is decided in ``decision``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.packet import MOST_CHARS, Packet, PacketKind
from spancheck_pipeline.evidence.verdict import Verdict, VerdictKey, Verdicts
from spancheck_pipeline.grading.judge_prompt import (
    LABEL_SCORES,
    PROMPTS,
    Prompt,
    Rendered,
    load_prompt,
    nonce_of,
    prompt_named,
    render,
    schema_of,
)
from spancheck_pipeline.grading.judge_reply import Parsed, UnreadableVerdictError, parse_reply

OK: Final = "ok"
MISSING: Final = "missing_verdict"
FAILED: Final = "judge_failed"
TOO_LONG: Final = "too_long_to_judge"

DEFAULT_THRESHOLD: Final = 0.6
"""Smallest score that counts as supported, wherever nobody says another. Above a half verdict (0.5), so that what is
partly supported is not supported, and below two yes of three repeats (0.67)."""


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What the recorded verdicts of one judge, or of a panel, come to for one packet."""

    judge: str
    supported: bool | None
    """None where nobody could say."""
    value: float | None
    """Of a judge the mean score of its repeats, of a panel the share of its members that say yes; in [0, 1]."""
    label: str | None
    """The word that most repeats or members said, of those that decided."""
    reason: str
    """One sentence for a reviewer. It quotes the judge, so it stays in record files."""
    code: str
    """``ok``, ``missing_verdict``, ``judge_failed:`` with the class of the error, or ``too_long_to_judge``."""
    is_stable: bool | None = None
    """Whether all repeats come to the same decision; None where there are no repeats."""
    n_missing: int = 0
    """Verdicts that were never asked for."""
    members: tuple[Opinion, ...] = ()
    """Of a panel: each judge's own opinion."""

    @property
    def reason_code(self) -> str:
        """The code without the class of an error, as it stands with scores."""
        return self.code.partition(":")[0]


@dataclass(frozen=True, kw_only=True)
class Judge:
    """One judge, or a panel of several: all that its opinion depends on, but for the verdicts."""

    name: str
    """Name in ``judges.yaml``."""
    client: str
    """How it is reached: ``openai``, ``command``, ``stub`` … or ``panel``."""
    client_digest: str = ""
    """Digest of the address, program or function behind it; empty where nothing but its kind is known."""
    model: str | None = None
    prompt: str = "entailment_v1"
    prompt_digest: str = ""
    """Left empty: the shipped prompt's."""
    temperature: float | None = None
    """None: the provider's default."""
    threshold: float = DEFAULT_THRESHOLD
    """Smallest score that counts as supported, in (0, 1]. Of a panel each member's own counts."""
    runs: int = 1
    """How often each packet is asked."""
    members: tuple[Judge, ...] = ()
    """Of a panel; empty for a judge."""

    def __post_init__(self) -> None:
        kinds = {member.kind for member in self.members}
        if len(kinds) > 1:
            raise ValueError(f"the members of panel {self.name} ask about different things: {', '.join(sorted(kinds))}")
        if any(member.members for member in self.members):
            raise ValueError(f"panel {self.name} has a panel among its members")
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold must be above 0 and at most 1, not {self.threshold}")
        if self.runs < 1:
            raise ValueError(f"runs must be at least 1, not {self.runs}")
        if not self.prompt_digest and not self.members:
            object.__setattr__(self, "prompt_digest", prompt_named(self.prompt).digest)

    @property
    def kind(self) -> PacketKind:
        """What it is asked about: ``entailment``, ``groundedness`` or ``faithful``."""
        return self.members[0].kind if self.members else prompt_named(self.prompt).kind

    @cached_property
    def identity(self) -> str:
        """Digest of what a verdict is kept under. Another threshold or number of repeats asks nothing anew."""
        if self.members:
            return digest({"name": self.name, "members": [member.identity for member in self.members]})
        return digest(
            {
                "name": self.name,
                "client": self.client,
                "client_digest": self.client_digest,
                "model": self.model,
                "prompt": self.prompt,
                "prompt_digest": self.prompt_digest,
                "temperature": self.temperature,
            }
        )

    @property
    def asked(self) -> tuple[Judge, ...]:
        """The judges that are really asked: itself, or a panel's members."""
        return self.members or (self,)

    def keys(self, packet: Packet) -> tuple[VerdictKey, ...]:
        """Return the keys of all verdicts that an opinion on a packet rests on; none for one that nobody is shown."""
        return () if packet.is_too_long else self._keys(packet.digest)

    def _keys(self, packet_digest: str) -> tuple[VerdictKey, ...]:
        return tuple((judge.identity, packet_digest, repeat) for judge in self.asked for repeat in range(judge.runs))

    def opinion(self, packet: Packet, verdicts: Verdicts) -> Opinion:
        """Return what the recorded verdicts on a packet come to. Nobody is asked.

        A verdict that was never asked for leaves it open. A failed one does where it could have changed the decision.
        """
        if packet.is_too_long:
            return _too_long(
                self.name, f"the material has {packet.n_chars} characters, and at most {MOST_CHARS} are shown"
            )
        return self.opinion_on(packet.digest, verdicts)

    def opinion_on(self, packet_digest: str, verdicts: Verdicts) -> Opinion:
        """Return the same for a packet that was asked about, of which only the digest is at hand."""
        if self.members:
            return _of_panel(self.name, tuple(member.opinion_on(packet_digest, verdicts) for member in self.members))
        return _of_judge(self, [verdicts.get(key) for key in self._keys(packet_digest)])


def _of_judge(judge: Judge, found: Sequence[Verdict | None]) -> Opinion:
    """Return the opinion of one judge: the mean score of its repeats against the threshold."""
    said = [verdict for verdict in found if verdict is not None and verdict.score is not None]
    failed = [verdict.error_class or "unknown" for verdict in found if verdict is not None and not verdict.is_answer]
    n, n_missing = len(found), sum(verdict is None for verdict in found)
    scores = [verdict.score for verdict in said if verdict.score is not None]
    # Extremes as in a gate: what failed could have said anything.
    worst, best = sum(scores) / n >= judge.threshold, (sum(scores) + len(failed)) / n >= judge.threshold
    if n_missing or worst != best or not scores:
        return _open(judge.name, f"Judge {judge.name}", n_missing=n_missing, failed=failed, n=n)
    decided = {score >= judge.threshold for score in scores}
    label = _commonest([v.label for v in said if v.score is not None and (v.score >= judge.threshold) == worst])
    label = label or _commonest([verdict.label for verdict in said])
    shown = next((verdict for verdict in said if verdict.label == label), said[0])
    how = "" if n == 1 else f" ({_repeats(scores, judge.threshold, n, supported=worst)})"
    quoted = f": {shown.reason}" if shown.reason else ""
    return Opinion(
        judge=judge.name,
        supported=worst,
        value=sum(scores) / len(scores),
        label=label,
        reason=_sentence(f"Judge {judge.name} says {label}{how}{quoted}"),
        code=OK,
        is_stable=len(decided) == 1 if len(scores) > 1 else None,
    )


def _repeats(scores: Sequence[float], threshold: float, n: int, *, supported: bool) -> str:
    n_same = sum((score >= threshold) == supported for score in scores)
    agreed = f"{n_same} of {n} repeats agree"
    return agreed if len(scores) == n else f"{agreed}, {n - len(scores)} failed"


def _of_panel(name: str, members: tuple[Opinion, ...]) -> Opinion:
    """Return the opinion of a panel: yes by a strict majority of its members, whatever the missing ones would say."""
    n = len(members)
    n_yes = sum(member.supported is True for member in members)
    n_failed = sum(member.supported is None for member in members)
    n_missing = sum(member.n_missing for member in members)
    worst, best = 2 * n_yes > n, 2 * (n_yes + n_failed) > n
    stable = [member.is_stable for member in members if member.is_stable is not None]
    if n_missing or worst != best or n_failed == n:
        failed = [member.code.partition(":")[2] or "unknown" for member in members if member.reason_code == FAILED]
        opened = _open(name, f"Panel {name}", n_missing=n_missing, failed=failed, n=n)
        return replace(opened, members=members)
    said = ", ".join(f"{member.judge} {member.label or 'nothing'}" for member in members)
    one = next((member for member in members if member.supported is worst), members[0])
    return Opinion(
        judge=name,
        supported=worst,
        value=n_yes / (n - n_failed),
        label=_commonest([member.label for member in members if member.supported is worst]),
        reason=_sentence(f"{n_yes} of {n} judges of panel {name} support it ({said}). {one.reason}"),
        code=OK,
        is_stable=all(stable) if stable else None,
        members=members,
    )


def _open(name: str, called: str, *, n_missing: int, failed: Sequence[str], n: int) -> Opinion:
    """Return that nothing can be said: a verdict that was never asked for comes before one that failed."""
    code = MISSING if n_missing else f"{FAILED}:{failed[0] if failed else 'unknown'}"
    if n_missing:
        reason = f"{called} was never asked for {n_missing} verdict{'' if n_missing == 1 else 's'} that this needs."
    else:
        reason = f"{called} gave no verdict: {len(failed)} of {n} failed ({', '.join(sorted(set(failed)))})."
    return Opinion(judge=name, supported=None, value=None, label=None, reason=reason, code=code, n_missing=n_missing)


def not_asked(judge: Judge, why: str) -> Opinion:
    """Return that a judge is not asked, because that would cost too much: there is no verdict, nor will there be."""
    return _too_long(judge.name, why)


def _too_long(name: str, why: str) -> Opinion:
    return Opinion(
        judge=name, supported=None, value=None, label=None, reason=f"Judge {name} is not asked: {why}.", code=TOO_LONG
    )


def _commonest(labels: Iterable[str | None]) -> str | None:
    """Return the label that is said most often; of equals the first in the alphabet, so that no order matters."""
    counts = Counter(label for label in labels if label is not None)
    return min(counts, key=lambda label: (-counts[label], label)) if counts else None


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def open_code(codes: Iterable[str], default: str) -> str:
    """Return the reason code of a score that is open: a missing verdict before a failed one before anything else."""
    told = set(codes)
    return next((code for code in (MISSING, FAILED, TOO_LONG) if code in told), default)


REPLY_SCHEMAS: Final[Mapping[str, Mapping[str, object]]] = {name: schema_of(prompt) for name, prompt in PROMPTS.items()}
"""Prompt → JSON Schema of the reply that it asks for."""

__all__ = [
    "DEFAULT_THRESHOLD", "FAILED", "LABEL_SCORES", "MISSING", "OK", "PROMPTS", "REPLY_SCHEMAS", "TOO_LONG", "Judge",
    "Opinion", "Parsed",
    "Prompt", "Rendered", "UnreadableVerdictError", "load_prompt", "nonce_of", "not_asked", "open_code", "parse_reply",
    "prompt_named", "render", "schema_of",
]  # fmt: skip
