"""Ed25519 keys on disk: signing a seal with a private key's file, and checking a signature with a public key's.

A private key is read from a file that only its owner can read; it is never an argument, never in an environment
variable itself, and never in a message. The extra ``sign`` brings the library; it is imported here and only when a key
is used.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spancheck_pipeline.decision.audit_seal import Seal, Signature
from spancheck_pipeline.decision.promotion import PromotionSeal
from spancheck_pipeline.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

S = TypeVar("S", Seal, PromotionSeal)
KEY_VARIABLE = "SPANCHECK_SIGNING_KEY_FILE"
_EXTRA = "signatures need the package cryptography; install it with pip install 'spancheck-pipeline[sign]'"


class Signer:
    """A private key, ready to sign seals."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._public = _raw(key.public_key())

    @property
    def key_id(self) -> str:
        """Name of the key: the beginning of its public half's digest."""
        return _key_id(self._public)

    def sign(self, seal: S) -> S:
        """Return a seal with a signature of it."""
        bare = seal.model_copy(update={"signature": None})
        signature = Signature(
            key_id=self.key_id, public_key=self._public.hex(), value=self._key.sign(bare.signed_bytes()).hex()
        )
        return bare.model_copy(update={"signature": signature})


def load_signer(path: Path, passphrase: str | None = None) -> Signer:
    """Return the signer of a private key's file: Ed25519 in PEM (PKCS 8), as ``openssl genpkey`` writes it.

    Raises:
        UsageError: for a file that cannot be read, that others can read too, or that is no such key; for a wrong
            passphrase or a missing package.
    """
    serialization, ed25519 = _library()
    _refuse_shared(path)
    secret = passphrase.encode() if passphrase else None
    try:
        key = serialization.load_pem_private_key(_bytes(path), password=secret)
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"{KEY_VARIABLE}: {path} is no private key in PEM, or its passphrase is missing or wrong "
            f"({type(error).__name__}); make one with: openssl genpkey -algorithm ed25519 -out KEY.pem"
        ) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(f"{KEY_VARIABLE}: {path} is no Ed25519 key; make one with openssl genpkey -algorithm ed25519")
    return Signer(key)


def load_public_key(path: Path) -> bytes:
    """Return the 32 bytes of a public key's file (PEM).

    Raises:
        UsageError: for a file that cannot be read or is no Ed25519 public key, or a missing package.
    """
    serialization, ed25519 = _library()
    try:
        key = serialization.load_pem_public_key(_bytes(path))
    except ValueError:
        key = None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise UsageError(
            f"{path}: no Ed25519 public key in PEM; make it from the private one with: "
            "openssl pkey -in KEY.pem -pubout -out KEY.pub.pem"
        )
    return _raw(key)


def wrong_signature(seal: Seal | PromotionSeal, public_key: bytes | None = None) -> str | None:
    """Return what is wrong with a seal's signature, or None; without a key it is checked with the one it carries.

    Raises:
        UsageError: when the package is missing.
    """
    if seal.signature is None:
        return "the seal is not signed"
    _, ed25519 = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        carried, value = bytes.fromhex(seal.signature.public_key), bytes.fromhex(seal.signature.value)
        if public_key is not None and carried != public_key:
            return f"the seal is signed with another key ({_key_id(carried)}) than the one given"
        if seal.signature.key_id != _key_id(carried):
            return "the seal's signature names another key than it carries"
        ed25519.Ed25519PublicKey.from_public_bytes(carried).verify(value, seal.signed_bytes())
    except (ValueError, InvalidSignature):
        return "the seal was changed after it was signed, or its signature was"
    return None


def _refuse_shared(path: Path) -> None:
    """Refuse a private key that more people than its owner can read: any of them could sign forged logs."""
    if os.name != "posix":
        return
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # reading it says why
    if mode & 0o077:
        raise UsageError(
            f"{KEY_VARIABLE}: {path} can be read by others than its owner (mode {mode & 0o777:o}); run: "
            f"chmod 600 {path} (a mounted secret: defaultMode 0400)"
        )


def _key_id(public: bytes) -> str:
    return hashlib.sha256(public).hexdigest()[:16]


def _raw(key: Ed25519PublicKey) -> bytes:
    raw: bytes = key.public_bytes_raw()
    return raw


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: the key cannot be read ({os.strerror(error.errno or 0)})") from None


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise UsageError(_EXTRA) from None
    return serialization, ed25519
