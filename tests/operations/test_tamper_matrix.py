"""Every file of a recorded night against flipping, truncating, deleting, swapping and putting an older one back.

What is not compared, and so is not here, is named in docs/audit-log.md ("What it cannot tell").
"""

import re
from pathlib import Path

import pytest
from two_nights import A, B, two_nights

from spancheck_pipeline.api.auditing_place import verify_place
from spancheck_pipeline.storage.store import Store

FILES = (
    "cases", "captured_run", "scores/grader=citation_accuracy", "scores/grader=groundedness", "scores/grader=no_pii",
    "scores/grader=completion", "scorecard", "comparison", "gate", "audit_log", "adjudications", "seals/audit_log",
    "baselines/suite=small/kind=release", "baselines/suite=small/kind=last_good",
    "seals/baselines/suite=small/kind=release", "seals/baselines/suite=small/kind=last_good",
    "_history/gate", "_history/audit_log", "_history/scorecard",
)  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return two_nights(tmp_path_factory.mktemp("nights"))


def files(store: Store, kind: str, date: str) -> list[Path]:
    """Return the files of a kind that belong to a date, in order."""
    found = sorted(path for path in Path(store.root, kind).rglob("*") if path.is_file())
    if "baselines" in kind:  # one file a night, in the order of the nights
        return [found[0 if date == A.date else 1]]
    return [path for path in found if f"date={date}" in str(path)]


def flipped_early(path, other, older):
    path.write_bytes(_flipped(path.read_bytes(), 1 / 3))


def flipped_late(path, other, older):
    path.write_bytes(_flipped(path.read_bytes(), 14 / 15))


def _flipped(data, at):
    index = int(len(data) * at)
    return data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :]


def truncated(path, other, older):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def deleted(path, other, older):
    path.unlink()


def swapped(path, other, older):
    mine = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(mine)


def put_back(path, other, older):
    path.write_bytes(older.read_bytes())


@pytest.mark.parametrize("change", [flipped_early, flipped_late, truncated, deleted, swapped, put_back],
                         ids=lambda change: change.__name__)  # fmt: skip
@pytest.mark.parametrize("kind", FILES)
def test_no_file_of_a_recorded_night_can_be_changed_unseen(store, kind, change):
    mine, others = files(store, kind, A.date), files(store, kind, B.date)
    assert mine, "nothing of this kind was written"
    path, other = mine[-1], others[-1]
    folder = Path(store.root, "_history", path.relative_to(store.root)).parent
    kept = folder / "revision=00001" / path.name
    older = kept if kept.exists() else mine[0]
    if change is put_back and older == path:
        return  # written once: there is no older one
    before = {each: each.read_bytes() for each in (path, other)}

    change(path, other, older)
    try:
        faults = verify_place(store, A).faults
    finally:
        for each, data in before.items():
            each.write_bytes(data)

    assert faults
    assert not any(re.search("recapture|nothing stored; there is no", fault) for fault in faults)


def test_the_nights_are_as_they_were_written_when_nothing_was_done_to_them(store):
    assert [verify_place(store, night).faults for night in (A, B)] == [(), ()]
