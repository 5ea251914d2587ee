"""Signatures of seals. They need the extra ``sign``."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.storage.signing import load_public_key, load_signer, wrong_signature

cryptography = pytest.importorskip("cryptography", reason="the extra sign (cryptography) is not installed")
from cryptography.hazmat.primitives import serialization as s  # noqa: E402 - after the skip
from cryptography.hazmat.primitives.asymmetric import ec, ed25519  # noqa: E402 - after the skip

SEAL = Seal(
    schema_version="2.0", suite="leases", date="2026-03-14", run_id="r", revision=1, header="a" * 64, head="b" * 64,
    n_records=3, sealed_at=datetime(2026, 3, 14, tzinfo=UTC), package_version="1",
)  # fmt: skip


def keys(folder, key=None, passphrase=None):
    key = key or ed25519.Ed25519PrivateKey.generate()
    lock = s.BestAvailableEncryption(passphrase.encode()) if passphrase else s.NoEncryption()
    private, public = folder / "key.pem", folder / "key.pub.pem"
    private.write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, lock))
    private.chmod(0o600)
    public.write_bytes(key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
    return private, public


def test_a_signed_seal_is_known_by_its_public_key(tmp_path):
    private, public = keys(tmp_path)

    signed = load_signer(private).sign(SEAL)

    assert signed.model_copy(update={"signature": None}) == SEAL
    assert wrong_signature(signed, load_public_key(public)) is None
    assert wrong_signature(signed) is None
    assert Seal.model_validate_json(signed.model_dump_json()) == signed


def test_a_key_with_a_passphrase_needs_it(tmp_path):
    private, _ = keys(tmp_path, passphrase="open sesame")

    assert load_signer(private, "open sesame").sign(SEAL).signature
    for wrong in (None, "close sesame"):
        with pytest.raises(UsageError, match="passphrase is missing or wrong") as caught:
            load_signer(private, wrong)
        assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_private_key_that_others_can_read_or_write_is_refused_with_the_fix(tmp_path, mode):
    private, _ = keys(tmp_path)
    private.chmod(mode)

    with pytest.raises(UsageError, match=f"chmod 600 {private}"):
        load_signer(private)


@given(st.sampled_from(["suite", "run_id", "header", "head"]), st.text(max_size=3).filter(lambda value: value != "r"))
def test_any_change_of_a_signed_seal_is_noticed(name, value):
    signed = SIGNED.model_copy(update={name: value})

    assert wrong_signature(signed)


def test_another_key_than_the_one_given_and_no_signature_are_said(tmp_path):
    private, _ = keys(tmp_path)
    signed = load_signer(private).sign(SEAL)
    (tmp_path / "other").mkdir()
    _, other = keys(tmp_path / "other")

    assert "another key" in wrong_signature(signed, load_public_key(other))
    assert wrong_signature(SEAL) == "the seal is not signed"
    forged = signed.signature.model_copy(update={"key_id": "0" * 16})
    assert "names another key" in wrong_signature(signed.model_copy(update={"signature": forged}))


def test_what_is_no_ed25519_key_is_refused_without_its_content(tmp_path):
    private, public = keys(tmp_path, key=ec.generate_private_key(ec.SECP256R1()))
    (tmp_path / "text").write_text("hush")

    for path in (private, tmp_path / "text", tmp_path / "nowhere", tmp_path):
        with pytest.raises(UsageError) as caught:
            load_signer(path)
        assert "hush" not in str(caught.value)
    for path in (public, private, tmp_path / "text", tmp_path / "nowhere"):
        with pytest.raises(UsageError):
            load_public_key(path)


def test_a_missing_package_is_an_error_that_names_the_extra(tmp_path, monkeypatch):
    private, _ = keys(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.asymmetric", None)

    with pytest.raises(UsageError, match=r"spancheck-pipeline\[sign\]"):
        load_signer(private)


def _signed() -> Seal:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        private, _ = keys(Path(folder))
        return load_signer(private).sign(SEAL)


SIGNED = _signed()
