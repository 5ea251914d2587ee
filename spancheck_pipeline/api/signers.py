"""Who signs the seals of this process: the key that its environment names, if it names one."""

from __future__ import annotations

from spancheck_pipeline.api.environment import signing_key
from spancheck_pipeline.storage.signing import Signer, load_signer


def own_signer() -> Signer | None:
    """Return who signs; to be asked before anything is written, since a key that cannot be used stops there.

    Raises:
        UsageError: for a key that cannot be used.
    """
    key = signing_key()
    return load_signer(key.path, key.passphrase) if key else None


__all__ = ["own_signer"]
