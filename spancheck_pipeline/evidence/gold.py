"""The gold set: claims with their evidence, each labelled by people, and the policy that they labelled by.

Reading one from a file, with the line of each mistake, lives in ``storage/gold_files.py``; what a judge is measured to
be against it in ``decision/calibration.py``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.packet import Packet, PacketKind, entailment_packet, sentence_packet

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]

Domain = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
"""It becomes a folder, as a suite's name does."""

Sampling = Literal["stress", "slice"]
"""``slice``: a random slice of the very answers that the suite judges. ``stress``: anything else."""


class GoldItem(BaseModel):
    """One claim with its evidence, and what people say of it."""

    model_config = _FROZEN

    id: Word
    claim: Annotated[str, Field(min_length=1, pattern=r"\S")]
    """The claim, the answer's sentence, or the criterion."""
    evidence: Annotated[tuple[str, ...], Field(min_length=1)]
    label: bool
    """Whether the evidence carries the claim, wholly."""
    answer: str | None = None
    """The whole answer; a judge of criteria needs it."""
    stratum: Word | None = None
    """Kind of item, for figures of its own: ``negation``, ``number`` …"""
    group: Word | None = None
    """Items of one group (a passage, a document) stand and fall together."""
    labellers: tuple[bool, ...] = ()
    """What each of several people said, where that is known."""
    policy: str | None = None
    """The labelling policy of this item, where it has one of its own."""

    def packet(self, kind: PacketKind) -> Packet:
        """Return what a judge is asked about this item: what it would be asked about an answer that says the same."""
        if kind == "entailment":
            return entailment_packet(self.claim, self.evidence)
        if kind == "groundedness":
            return sentence_packet(self.claim, self.evidence)
        return Packet(kind, self.claim.strip(), self.evidence, (self.answer or "").strip())


class GoldSet(BaseModel):
    """A file of gold items, with what the file as a whole says of itself."""

    model_config = _FROZEN

    name: str
    """The file's name without its ending."""
    domain: Domain
    """What the items are about: a calibration counts for suites of the same domain."""
    sampling: Sampling = "stress"
    policy: str = ""
    """How people were told to label. It is part of the digest: other rules make other labels."""
    items: tuple[GoldItem, ...]
    tied: tuple[tuple[bool, ...], ...] = ()
    """What people said of items on which they were evenly divided: these have no label and are no items, and how far
    people agree must count them."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything but the file's name."""
        return digest(self.model_dump(mode="json", exclude={"name"} if self.tied else {"name", "tied"}))

    @property
    def has_groups(self) -> bool:
        """Whether any item has a group."""
        return any(item.group is not None for item in self.items)

    def cluster(self, item: GoldItem) -> tuple[bool, str]:
        """Return the item's group, or the item itself where it has none; the flag keeps the two apart."""
        return (item.group is not None, item.id if item.group is None else item.group)
