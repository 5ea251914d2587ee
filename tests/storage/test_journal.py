"""The journal: durable, resumable, never damaged by a failed write."""

import errno
import json
import os
import resource
import shutil
import subprocess
from concurrent.futures import wait
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline.errors import (
    CaptureRefusedError,
    ContractError,
    CorruptFileError,
    MissingDataError,
    StorageError,
)
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output, TargetFacts, normalize
from spancheck_pipeline.storage.file_journal import TORN, FileJournal, read_header
from spancheck_pipeline.storage.journal import JournalHeader, MemoryJournal, questions_digest


def header(**changes):
    facts = TargetFacts(kind="callable", reference="app:answer", version="1", settings_digest="0" * 64)
    fields = {
        "run_id": "run-1",
        "suite": "leases",
        "date": "2026-11-30",
        "dataset_digest": "d" * 64,
        "target": facts,
        "epochs": 1,
        "started_at": datetime(2026, 11, 30, 2, 0, tzinfo=UTC),
    }
    return JournalHeader(**{**fields, **changes})


def row(case_id, epoch=0, *, answer="It is three months.", **changes):
    fields = {"case_id": case_id, "question_digest": "q" * 64, "epoch": epoch, "output": Output(answer=answer)}
    return CapturedRow(**{**fields, **changes})


def write(journal, *rows, pass_number=1):
    for item in rows:
        journal.append(item, pass_number=pass_number).result(timeout=10)


def failed_row(case_id):
    return row(case_id, output=None, error_class="TimeoutError", attempts=3)


@contextmanager
def file_size_limit(limit):
    """Let no file of this process grow beyond a size: a real failure of a real write, half of it written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_resumed_journal_has_the_rows_and_the_run_of_the_first_session(tmp_path):
    path = tmp_path / "part" / "journal.jsonl"
    first = FileJournal(path, header())
    assert not first.resumed
    write(first, row("a"), row("b", answer="é\u2028\u0000"))
    first.close()

    again = FileJournal(path, header(run_id="run-2", started_at=datetime(2026, 11, 30, 9, 0, tzinfo=UTC)))
    assert again.resumed
    assert again.header == header()
    assert again.warnings == ()
    assert list(again.rows([("b", 0), ("a", 0)])) == [row("b", answer="é\u2028\u0000"), row("a")]
    assert again.state(("a", 0)).answered
    assert again.state(("c", 0)) is None
    assert read_header(path) == header()
    again.discard()
    assert not path.exists()
    assert read_header(path) is None


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_the_latest_record_of_a_key_counts_and_carries_its_pass(tmp_path, kind):
    journal = FileJournal(tmp_path / "j.jsonl", header()) if kind == "file" else MemoryJournal()
    write(journal, failed_row("a"), row("b"))
    assert journal.state(("a", 0)).error_class == "TimeoutError"
    assert journal.state(("a", 0)).attempts == 3
    write(journal, row("a", attempts=4), pass_number=2)
    assert journal.state(("a", 0)).pass_number == 2
    assert journal.state(("a", 0)).answered
    assert [item.attempts for item in journal.rows([("a", 0)])] == [4]
    assert journal.recorded_keys() == (("a", 0), ("b", 0))
    with pytest.raises(MissingDataError, match="case 'zzz'"):
        list(journal.rows([("zzz", 0)]))
    journal.flush()
    journal.discard()


def test_every_line_is_json_and_says_its_contract_and_that_it_contains_text(tmp_path):
    journal = FileJournal(tmp_path / "j.jsonl", header())
    write(journal, row("a"))
    journal.close()
    lines = [json.loads(line) for line in (tmp_path / "j.jsonl").read_text().splitlines()]
    assert lines[0]["contract"] == 1
    assert lines[0]["contains_text"] is True
    assert lines[1]["pass"] == 1
    assert lines[1]["row"]["case_id"] == "a"


def test_rows_that_arrive_together_share_a_write(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    journal = FileJournal(tmp_path / "j.jsonl", header())
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), real(fd)))
    wait([journal.append(row(str(n)), pass_number=1) for n in range(200)], timeout=10)
    assert len(journal.recorded_keys()) == 200
    assert len(synced) < 200  # far fewer in practice; what matters is that it is not one each
    journal.close()


def test_a_torn_last_line_is_dropped_at_whatever_byte_it_was_cut(tmp_path):
    whole = tmp_path / "whole.jsonl"
    journal = FileJournal(whole, header())
    write(journal, row("a"))
    durable = whole.stat().st_size
    write(journal, row("b"))
    journal.close()
    data = whole.read_bytes()
    for cut in range(durable, len(data)):
        path = tmp_path / "torn.jsonl"
        path.write_bytes(data[:cut])
        torn = FileJournal(path, header())
        assert torn.warnings == (() if cut == durable else (TORN,))
        assert torn.recorded_keys() == (("a", 0),)
        assert path.stat().st_size == durable
        if cut % 40 == 0:  # writing goes on where the last whole record ends
            write(torn, row("b"))
            torn.close()
            assert path.read_bytes() == data
        torn.discard()


def test_a_last_line_with_a_wrong_byte_is_dropped_and_one_before_it_is_refused(tmp_path):
    path = tmp_path / "j.jsonl"
    journal = FileJournal(path, header())
    write(journal, row("a"), row("b"))
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    spoilt = [line.replace(b"three", b"seven") for line in lines]
    path.write_bytes(b"".join([*lines[:2], spoilt[2]]))
    torn = FileJournal(path, header())
    assert torn.warnings == (TORN,)
    torn.close()
    path.write_bytes(b"".join([lines[0], spoilt[1], lines[2]]))
    with pytest.raises(CorruptFileError, match=r"j\.jsonl:2: this record is damaged"):
        FileJournal(path, header())
    assert path.read_bytes() == b"".join([lines[0], spoilt[1], lines[2]])


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", CorruptFileError, "not a capture's journal"),
        (b"PAR1\x00\xff", CorruptFileError, "not a capture's journal"),
        (b'{"contract": 7, "run_id": "x"}\n', ContractError, "contract 7 is not known here .*reads contract 1"),
        (b'{"contract": 1, "run_id": "x"}\n', CorruptFileError, "header is damaged"),
    ],
)
def test_a_file_that_is_no_journal_of_this_contract_is_refused_and_left_alone(tmp_path, content, error, message):
    path = tmp_path / "j.jsonl"
    path.write_bytes(content)
    with pytest.raises(error, match=message):
        FileJournal(path, header())
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": header().target.model_copy(update={"version": "2"})}, "target version '1' there, '2' now"),
        ({"target": header().target.model_copy(update={"reference": "app:other"})}, "'app:answer' there, 'app:other'"),
        ({"suite": "other"}, "suite 'leases' there, 'other' now"),
        ({"epochs": 3}, "epochs 1 there, 3 now"),
        ({"mode": "recapture"}, "mode 'capture' there, 'recapture' now"),
        ({"questions_digest": "b" * 64}, "questions digest 'aaaaaaaaaaaa' there, 'bbbbbbbbbbbb' now"),
    ],
)
def test_a_journal_of_another_run_is_not_continued(tmp_path, changes, message):
    path = tmp_path / "j.jsonl"
    FileJournal(path, header(questions_digest="a" * 64)).close()
    before = path.read_bytes()
    with pytest.raises(CaptureRefusedError, match=message) as refused:
        FileJournal(path, header(**{"questions_digest": "a" * 64, **changes}))
    assert "--recapture" in str(refused.value)
    assert "another run (run-1 there, run-1 now)" in str(refused.value)
    assert path.read_bytes() == before


def test_a_recapture_sets_a_journal_of_another_run_aside_and_resumes_its_own(tmp_path):
    path = tmp_path / "j.jsonl"
    other = header(target=header().target.model_copy(update={"version": "0"}))
    for content in (None, b"damaged\n"):
        journal = FileJournal(path, other, set_aside_other=True)
        write(journal, row("a"))
        journal.close()
        if content:
            path.write_bytes(content)
        before = path.read_bytes()
        new = FileJournal(path, header(), set_aside_other=True)
        assert new.recorded_keys() == ()
        write(new, row("b"))
        new.close()
        again = FileJournal(path, header(), set_aside_other=True)
        assert again.recorded_keys() == (("b", 0),)
        again.close()
        assert before in [aside.read_bytes() for aside in tmp_path.glob("*.aside")]
    assert len(list(tmp_path.glob("*.aside"))) == 3


def test_labels_and_order_do_not_matter_to_the_questions_digest_and_a_question_does():
    cases = [Case("a", "One?"), Case("b", "Two?")]
    assert questions_digest(cases) == questions_digest([Case("b", "Two?", expected="2"), Case("a", "One?")])
    assert questions_digest(cases) != questions_digest([Case("a", "One?"), Case("b", "Three?")])


def test_a_write_that_the_kernel_refuses_half_way_leaves_every_earlier_record(tmp_path):
    path = tmp_path / "j.jsonl"
    journal = FileJournal(path, header())
    write(journal, row("a"))
    durable = path.read_bytes()
    with file_size_limit(len(durable) + 100):
        with pytest.raises(StorageError, match="Every call recorded before is kept") as refused:
            write(journal, row("b", answer="x" * 5000))
        assert os.strerror(errno.EFBIG) in str(refused.value)
        assert path.read_bytes() == durable
    with pytest.raises(StorageError):  # a journal that failed once takes nothing more
        write(journal, row("c"))
    journal.close()
    again = FileJournal(path, header())
    assert again.recorded_keys() == (("a", 0),)
    assert again.warnings == ()
    write(again, row("b"))
    again.close()


def test_a_full_disk_is_a_storage_error_and_leaves_every_earlier_record(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    mounted = (
        mount
        and not subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False, capture_output=True
        ).returncode
    )
    if not mounted:
        pytest.skip("needs the right to mount a small tmpfs; the size limit above is refused in the same place")
    try:
        journal = FileJournal(disk / "j.jsonl", header())
        write(journal, row("a"))
        with pytest.raises(StorageError, match=os.strerror(errno.ENOSPC)):
            write(journal, *(row(str(n), answer="x" * 5000) for n in range(30)))
        kept = journal.recorded_keys()
        journal.close()
        assert len(kept) > 1
        again = FileJournal(disk / "j.jsonl", header())
        assert (again.recorded_keys(), again.warnings) == (kept, ())
        again.close()
        _fill(disk / "filler")
        with pytest.raises(StorageError, match=os.strerror(errno.ENOSPC)):  # nor is there room for a new journal
            FileJournal(disk / "new" / "j.jsonl", header())
        assert not (disk / "new" / "j.jsonl").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _fill(path):
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 512)
        except OSError:
            return


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_any_failing_write_or_fsync_is_told_to_who_waits_and_cut_back(tmp_path, monkeypatch, call, number):
    path = tmp_path / "j.jsonl"
    journal = FileJournal(path, header())
    write(journal, row("a"))
    durable = path.read_bytes()

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(StorageError, match=os.strerror(number)):
            write(journal, row("b"))
    journal.close()
    assert path.read_bytes() == durable


def test_a_journal_where_nothing_can_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match="cannot write the journal"):
        FileJournal(tmp_path / "file" / "j.jsonl", header())


def test_a_caller_that_stops_waiting_does_not_unwrite_its_row(tmp_path):
    journal = FileJournal(tmp_path / "j.jsonl", header())
    assert not journal.append(row("a"), pass_number=1).cancel()
    journal.flush()
    assert journal.recorded_keys() == (("a", 0),)
    journal.close()


def test_a_closed_journal_takes_nothing(tmp_path):
    journal = FileJournal(tmp_path / "j.jsonl", header())
    journal.close()
    journal.close()
    with pytest.raises(StorageError, match="closed"):
        write(journal, row("a"))


@settings(max_examples=40, deadline=None)
@given(
    answers=st.lists(st.text(max_size=40), max_size=6),
    raw=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    ),
)
def test_what_is_read_back_is_what_was_appended(tmp_path_factory, answers, raw):
    rows = [row(f"c{n}", output=normalize({"answer": text, "raw": raw})) for n, text in enumerate(answers)]
    journal = FileJournal(tmp_path_factory.mktemp("journal") / "j.jsonl", header())
    write(journal, *rows)
    journal.close()
    again = FileJournal(journal.path, header())
    assert list(again.rows(item.key for item in rows)) == rows
    again.close()
