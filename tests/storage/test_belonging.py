"""A file is read where it was written for, and nowhere else, whatever table it is of."""

import itertools
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spancheck_pipeline.errors import ForeignFileError
from spancheck_pipeline.storage.adjudications import batch_place
from spancheck_pipeline.storage.store import AdHoc, JudgePlace, Night, Store
from spancheck_pipeline.storage.tables import ADJUDICATIONS, CALIBRATION, JUDGE_VERDICTS, SCORES, TABLES

NIGHT = Night("leases", "2026-03-14")
PLACES = (
    NIGHT,
    Night("leases", "2026-03-15"),
    Night("forms", "2026-03-14"),
    AdHoc("leases", "r1"),
    AdHoc("leases", "r2"),
)


def written(store, place, table, grader=None) -> Path:
    store.publish(place, table, [], grader=grader, identity={}, metadata={})
    return Path(store.path(place, table, grader))


def test_a_file_is_opened_at_its_own_place(tmp_path):
    store = Store(tmp_path)
    for place, table in itertools.product(PLACES, TABLES.values()):
        written(store, place, table, "g" if table is SCORES else None)

        assert store.open(place, table, "g" if table is SCORES else None).n_rows == 0


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_no_table_is_read_at_another_suite_date_or_run(tmp_path, table):
    store = Store(tmp_path)
    grader = "g" if table is SCORES else None
    paths = {place: written(store, place, table, grader) for place in PLACES}

    for own, other in itertools.permutations(PLACES, 2):
        kept = paths[other].read_bytes()
        shutil.copy(paths[own], paths[other])
        with pytest.raises(ForeignFileError) as error:
            store.open(other, table, grader)
        assert f"lies at {other}" in str(error.value)
        assert f"is the {table.name} of {own}" in str(error.value)
        paths[other].write_bytes(kept)


@pytest.mark.parametrize(("table", "own", "other"), [
    (CALIBRATION, JudgePlace("a", ("domain=d",)), JudgePlace("b", ("domain=d",))),
    (CALIBRATION, JudgePlace("a", ("domain=d",)), JudgePlace("a", ("domain=e",))),
    (JUDGE_VERDICTS, JudgePlace("a", ("identity=1",)), JudgePlace("a", ("identity=2",))),
    (ADJUDICATIONS, batch_place(NIGHT, "20260314T020000-0123456789ab"),
     batch_place(NIGHT, "20260314T020000-0123456789ac")),
])  # fmt: skip
def test_what_a_judge_or_a_reviewer_said_is_not_read_as_that_of_another(tmp_path, table, own, other):
    store = Store(tmp_path)
    there = Path(store.path(other, table))
    there.parent.mkdir(parents=True)
    shutil.copy(written(store, own, table), there)

    with pytest.raises(ForeignFileError):
        store.open(other, table)


def test_what_a_file_says_of_its_place_is_repeated_only_where_it_is_a_place(tmp_path):
    store = Store(tmp_path)
    path = written(store, NIGHT, SCORES, "g")
    table = pq.ParquetFile(path).read()
    said = {**table.schema.metadata, b"place": b"scores/\x1b[31m<script>alert(1)</script>"}
    pq.write_table(table.replace_schema_metadata(said), path)

    with pytest.raises(ForeignFileError, match="is the scores of another place, as it says itself"):
        store.open(NIGHT, SCORES, "g")
