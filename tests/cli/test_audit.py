"""``spancheck audit export`` and ``verify`` as a user calls them."""

import json
import shutil
import subprocess

import pytest
from scenario import spancheck

TEXT = "Either party may end the lease"


@pytest.fixture
def recorded(project, capsys):
    assert spancheck("run", "small", "--run-id", "r1") == 0
    capsys.readouterr()
    return project


def test_an_exported_log_is_verified_and_the_head_is_the_one_that_was_printed(project, capsys):
    assert spancheck("run", "small", "--run-id", "r1", "--out", "log.json") == 0
    printed = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  head: "))

    assert spancheck("audit", "verify", "log.json", "--head", printed.removeprefix("  head: ")) == 0

    out = capsys.readouterr().out
    assert "log.json: 12 records, as it was written" in out
    assert printed.strip() in out


def test_a_changed_file_is_named_on_stdout_and_ends_with_1(recorded, capsys):
    spancheck("audit", "export", "run:r1", "--to", "log.jsonl")
    assert spancheck("gate", "log.jsonl") == 0, "lines are read as the object is"
    text = (recorded.folder / "log.jsonl").read_text()
    (recorded.folder / "log.jsonl").write_text(text.replace('"outcome": "pass"', '"outcome": "fail"', 1))
    capsys.readouterr()

    assert spancheck("audit", "verify", "log.jsonl") == 1
    out = capsys.readouterr().out
    assert out.startswith("record 1 (case 'q00', epoch 0): was changed")
    assert "NOT as it was written" in out

    assert spancheck("audit", "verify", "log.jsonl", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["first_fault"] == {"what": "changed", "record": 1, "case_id": "q00", "epoch": 0}


def test_a_stored_log_is_verified_by_its_run_and_a_wrong_head_is_said(recorded, capsys):
    assert spancheck("audit", "verify", "run:r1") == 0
    assert spancheck("audit", "verify", "run:r1", "--head", "0" * 64) == 1
    assert "not in the head that was given" in capsys.readouterr().out


def test_a_redacted_copy_verifies_and_holds_no_answer(recorded, capsys):
    assert spancheck("audit", "export", "run:r1", "--to", "copy.json", "--redact", "contexts,answers") == 0
    assert TEXT not in (recorded.folder / "copy.json").read_text()

    assert spancheck("audit", "verify", "copy.json") == 0
    assert "a redacted copy (contexts, answers)" in capsys.readouterr().err
    assert spancheck("score", "copy.json") == 0
    assert spancheck("score", "copy.json", "--regrade") == 2
    assert "cannot be graded again" in capsys.readouterr().err


def test_schema_1_0_says_what_it_loses(recorded, capsys):
    assert spancheck("audit", "export", "run:r1", "--to", "old.json", "--schema", "1.0") == 0

    shown = capsys.readouterr()
    assert "the chain: a 1.0 document cannot be verified" in shown.err
    assert spancheck("score", "old.json") == 0
    assert "not known: the document that was read holds no findings" in capsys.readouterr().out
    assert spancheck("audit", "verify", "old.json") == 2
    assert "has no chain" in capsys.readouterr().err


def test_a_log_printed_on_stdout_is_json_and_nothing_else(recorded, capsys):
    assert spancheck("audit", "export", "run:r1", "--to", "-") == 0

    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["records"]) == 12
    assert "head: " in shown.err


def test_a_signed_seal_is_checked_with_the_public_key(project, capsys, monkeypatch):
    pytest.importorskip("cryptography", reason="the extra sign (cryptography) is not installed")
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which the documentation makes a key with, is not installed")
    key, public = project.folder / "key.pem", project.folder / "key.pub.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(public)], check=True)
    assert spancheck("run", "small", "--run-id", "r0") == 0
    assert spancheck("audit", "verify", "run:r0", "--public-key", str(public)) == 1, "that one was not signed"
    monkeypatch.setenv("SPANCHECK_SIGNING_KEY_FILE", str(key))
    assert spancheck("run", "small", "--run-id", "r1", "--out", "log.json") == 0

    assert spancheck("audit", "verify", "log.json", "--public-key", str(public)) == 0
    assert "the seal is signed, key" in capsys.readouterr().err
    seal = json.loads((project.folder / "log.json.seal.json").read_text())
    (project.folder / "log.json.seal.json").write_text(json.dumps(seal | {"n_records": 11}))
    assert spancheck("audit", "verify", "log.json", "--public-key", str(public)) == 1
    assert "changed after it was signed" in capsys.readouterr().out


def test_a_key_that_cannot_be_used_stops_before_a_record_is_written(project, capsys, monkeypatch):
    monkeypatch.setenv("SPANCHECK_SIGNING_KEY_FILE", str(project.folder / "nowhere.pem"))

    assert spancheck("run", "small", "--run-id", "r1") == 2
    assert "nowhere.pem: the key cannot be read" in capsys.readouterr().err
    assert not (project.storage / "runs" / "r1" / "audit_log").exists()


MISTAKES = [
    (["verify", "run:r1", "--head", "abc"], "64 hexadecimal digits"),
    (["verify", "nowhere.json"], "cannot be read"),
    (["verify", "small", "2026-01-05", "--date", "2026-01-05"], "given twice"),
    (["export", "run:r1", "--to", "x.json", "--redact", "answer"], "no such group"),
    (["export", "run:r1", "--to", "x.json", "--schema", "1.0", "--redact", "pii"], "goes without --redact"),
    (["export", "run:r9", "--to", "x.json"], "nothing stored"),
]


def test_each_mistake_is_said_with_its_fix_and_ends_with_2(recorded, capsys):
    for arguments, said in MISTAKES:
        assert spancheck("audit", *arguments) == 2, arguments
        assert said in capsys.readouterr().err


def test_a_record_that_is_gone_and_decisions_that_are_gone_end_with_1(recorded, capsys):
    suite = recorded.suite_folder / "suite.yaml"
    text = suite.read_text()
    for threshold in ("0.8", "0.7"):
        suite.write_text(text.replace("abstention_correct: 0.9}", f"abstention_correct: {threshold}}}"))
        assert spancheck("run", "small", "--run-id", "r1") == 0
    assert spancheck("audit", "history", "run:r1") == 0
    shutil.rmtree(recorded.storage / "_history" / "runs" / "r1" / "gate")
    capsys.readouterr()

    assert spancheck("audit", "history", "run:r1") == 1
    assert "decisions 1 to 2 are gone" in capsys.readouterr().out
    assert spancheck("audit", "verify", "run:r1") == 1
    assert "revisions 1–2 of gate are gone" in capsys.readouterr().out

    shutil.rmtree(recorded.storage / "runs" / "r1" / "audit_log")
    assert spancheck("audit", "verify", "run:r1") == 1
    assert "run r1: a log was sealed here at" in capsys.readouterr().out
