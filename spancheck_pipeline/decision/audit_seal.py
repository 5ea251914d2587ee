"""The seal of an audit log: a small document, written after it and kept apart from it, that says where its chain ends.

Signing (a key on disk) and where seals are kept live in ``storage``; checking a log against one in ``audit_check.py``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.audit_chain import CHAIN_VERSION
from spancheck_pipeline.evidence.canonical import CONTRACT, canonical_json, digest

_FROZEN = ConfigDict(frozen=True, extra="forbid")


class Signature(BaseModel):
    """An Ed25519 signature (RFC 8032) over the canonical JSON of the seal without it."""

    model_config = _FROZEN

    algorithm: Literal["ed25519"] = "ed25519"
    key_id: str
    """First 16 hexadecimal digits of the SHA-256 of the public key's 32 bytes."""
    public_key: str
    """The public key's 32 bytes as hexadecimal digits. Whoever forges a seal can put another one here: compare the key
    with one that you have from elsewhere."""
    value: str
    """64 bytes as hexadecimal digits."""


class SealedDocument(BaseModel):
    """What every seal has: when it was made and by which version, a checksum, and a signature where there is a key."""

    model_config = _FROZEN

    sealed_at: datetime
    """UTC."""
    package_version: str
    checksum: str | None = None
    """SHA-256 of the canonical JSON of the seal without this and the signature: against damage, not against forgers."""
    signature: Signature | None = None

    def checked(self) -> Self:
        """Return it with its checksum."""
        return self.model_copy(update={"checksum": self._checksum()})

    @property
    def is_whole(self) -> bool:
        """Whether it is what its checksum is of; one without is taken as it is."""
        return self.checksum is None or self.checksum == self._checksum()

    def _checksum(self) -> str:
        return digest(self.model_dump(mode="json", exclude={"signature", "checksum"}))

    def signed_bytes(self) -> bytes:
        """Return what a signature is over."""
        document: dict[str, Any] = self.model_dump(mode="json", exclude={"signature"})
        return canonical_json(document).encode()


class Seal(SealedDocument):
    """Where an audit log's chain begins and ends. It holds no text."""

    contract: Literal[1] = CONTRACT
    kind: Literal["audit_log_seal"] = "audit_log_seal"
    schema_version: str
    """Of the audit log."""
    chain_version: int = CHAIN_VERSION
    suite: str
    date: str | None = None
    run_id: str
    revision: int | None = None
    """Of the stored audit log; None for a log that was never stored."""
    header: str
    """Digest of the log's header."""
    head: str
    """Digest of the log's last record: the one to keep where nobody who can rewrite the log can rewrite it."""
    n_records: int
    files: dict[str, str] = Field(default_factory=dict)
    """The stored log (``audit_log``) and each file that it was made from, by the name its header gives it (batches of
    dispositions by a commitment to that): a commitment, under the log's key, to the SHA-256 of the file's bytes.
    Whoever has the whole log can check them; nobody who has a redacted copy can try texts against them. Empty for a
    log that was never stored."""


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a seal."""
    return Seal.model_json_schema(mode="serialization")
