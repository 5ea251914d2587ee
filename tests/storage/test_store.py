import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scenario import case

from spancheck_pipeline.errors import ContractError, CorruptFileError, MissingDataError, StorageError, UsageError
from spancheck_pipeline.storage import draft as draft_module
from spancheck_pipeline.storage.publication import LocalPublisher
from spancheck_pipeline.storage.rows import case_to_row
from spancheck_pipeline.storage.store import AdHoc, Night, Store
from spancheck_pipeline.storage.tables import CASES, SCORES

NIGHT = Night("leases", "2026-03-14")


def rows(*questions: str):
    return [case_to_row(case(f"q{i}", text), i) for i, text in enumerate(questions)]


def publish(store: Store, *questions: str, place=NIGHT, identity=None):
    return store.publish(place, CASES, iter(rows(*questions)), identity=identity or {}, metadata={})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "storage")


def test_a_published_table_is_read_back_row_by_row_with_its_metadata(store):
    published = publish(store, "a", "b")

    file = store.open(NIGHT, CASES)

    assert [row["input"] for row in file.rows()] == ["a", "b"]
    assert (file.revision, file.content_digest, file.n_rows) == (1, published.content_digest, 2)
    assert {key: file.metadata[key] for key in ("contract", "table", "contains_text")} == {
        "contract": "1",
        "table": "cases",
        "contains_text": "true",
    }


def test_the_same_content_is_not_written_again(store):
    publish(store, "a")
    before = Path(store.path(NIGHT, CASES)).stat().st_mtime_ns

    again = publish(store, "a")

    assert not again.is_new
    assert again.revision == 1
    assert Path(store.path(NIGHT, CASES)).stat().st_mtime_ns == before
    assert not list(Path(store.root).glob("_tmp/*"))


def test_another_identity_is_another_content_although_the_rows_are_equal(store):
    publish(store, "a", identity={"spec": "1"})

    assert publish(store, "a", identity={"spec": "2"}).revision == 2


def test_a_superseded_revision_stays_readable_under_history(store):
    first = publish(store, "a")
    publish(store, "b")
    publish(store, "c")

    assert [file.revision for file in store.revisions(NIGHT, CASES)] == [1, 2, 3]
    assert [row["input"] for row in store.open_by_digest(NIGHT, CASES, first.content_digest).rows()] == ["a"]
    assert [row["input"] for row in store.open(NIGHT, CASES).rows()] == ["c"]


def test_readers_of_the_folder_never_see_the_history(store):
    publish(store, "a")
    publish(store, "b")

    assert list(pd.read_parquet(Path(store.root) / "cases")["input"]) == ["b"]


def test_pandas_polars_and_duckdb_read_the_folders_with_suite_and_date_as_columns(store):
    publish(store, "a")
    publish(store, "b", place=Night("leases", "2026-03-15"))
    folder = f"{store.root}/cases"

    frame = pd.read_parquet(folder)
    assert sorted(frame["date"].astype(str)) == ["2026-03-14", "2026-03-15"]
    assert set(frame["suite"]) == {"leases"}
    polars = pl.read_parquet(f"{folder}/**/*.parquet", hive_partitioning=True)
    assert polars.select("suite", pl.col("date").cast(pl.String), "input").sort("input").rows() == [
        ("leases", "2026-03-14", "a"),
        ("leases", "2026-03-15", "b"),
    ]
    query = f"select suite, date::varchar, input from read_parquet('{folder}/**/*.parquet', hive_partitioning=true)"
    assert sorted(duckdb.sql(query).fetchall()) == [("leases", "2026-03-14", "a"), ("leases", "2026-03-15", "b")]


def test_several_partitions_are_one_lazy_dataset(store):
    publish(store, "a")
    publish(store, "b", place=Night("leases", "2026-03-15"))

    dataset = store.dataset([NIGHT, Night("leases", "2026-03-15")], CASES)

    assert dataset.to_table(columns=["date", "input"]).to_pylist() == [
        {"date": "2026-03-14", "input": "a"},
        {"date": "2026-03-15", "input": "b"},
    ]


def test_an_ad_hoc_run_never_enters_a_partition(store):
    publish(store, "a", place=AdHoc("leases", "leases-1"))

    assert store.dates("leases", CASES) == ()
    assert (Path(store.root) / "runs" / "leases-1" / "cases" / "part-0.parquet").is_file()


def test_a_namespace_prefixes_every_path(tmp_path):
    store = Store(tmp_path, namespace="team_a")
    publish(store, "a")

    assert (tmp_path / "team_a" / "cases" / "suite=leases" / "date=2026-03-14" / "part-0.parquet").is_file()


@pytest.mark.parametrize("name", ["../x", "A", "", "a/b", "a" * 64, "a.b", "é"])
def test_a_name_that_is_none_becomes_no_path(name):
    with pytest.raises(UsageError, match="is not a name"):
        Night(name, "2026-03-14")


@pytest.mark.parametrize("date", ["2026-3-14", "../x", "2026-02-30", "20260314", ""])
def test_a_date_that_is_none_becomes_no_path(date):
    with pytest.raises(UsageError, match="is not a date"):
        Night("leases", date)


@pytest.mark.parametrize("run_id", ["../x", "a/b", "", ".hidden", "a..b"])
def test_a_run_id_that_is_none_becomes_no_path(run_id):
    with pytest.raises(UsageError, match="is not a run id"):
        AdHoc("leases", run_id)


def test_nothing_stored_is_said_as_such(store):
    with pytest.raises(
        MissingDataError, match="nothing stored; there is no scores of grader g for leases on 2026-03-14"
    ):
        store.open(NIGHT, SCORES, "g")


def test_a_file_of_another_contract_is_refused_naming_both_numbers(store):
    publish(store, "a")
    path = store.path(NIGHT, CASES)
    table = pq.read_table(path, partitioning=None)
    metadata = {**pq.read_metadata(path).metadata, b"contract": b"7"}
    pq.write_table(table.replace_schema_metadata(metadata), path)

    with pytest.raises(ContractError, match=r"contract '7' is not known here \(this version reads contract 1\)"):
        store.open(NIGHT, CASES)


def test_a_foreign_parquet_file_is_refused(store):
    path = Path(store.path(NIGHT, CASES))
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), path)

    with pytest.raises(CorruptFileError, match="not a file of spancheck-pipeline"):
        store.open(NIGHT, CASES)


def test_a_corrupt_file_is_refused_wherever_it_is_cut(store):
    publish(store, "a", "b")
    path = Path(store.path(NIGHT, CASES))
    whole = path.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptFileError, match="not a readable Parquet file"):
            store.open(NIGHT, CASES)


def test_a_failed_write_leaves_what_stood_there(store):
    publish(store, "a")

    def broken():
        yield from rows("b", "c")
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match="the disk is full; free some space and run again"):
        store.publish(NIGHT, CASES, broken(), identity={}, metadata={})

    assert [row["input"] for row in store.open(NIGHT, CASES).rows()] == ["a"]
    assert not list(Path(store.root).glob("_tmp/*"))


@pytest.mark.parametrize("seam", ["_keep", "_rename"])
def test_dying_while_superseding_loses_neither_revision(store, monkeypatch, seam):
    publish(store, "a")
    real = getattr(LocalPublisher, seam)

    def dies(self, *args):
        if seam == "_keep":
            real(self, *args)
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalPublisher, seam, dies)
    with pytest.raises(KeyboardInterrupt):
        publish(store, "b")
    monkeypatch.undo()

    assert [row["input"] for row in store.open(NIGHT, CASES).rows()] == ["a"]
    assert publish(store, "b").revision == 2
    assert [[row["input"] for row in file.rows()] for file in store.revisions(NIGHT, CASES)] == [["a"], ["b"]]


def test_row_groups_depend_on_the_rows_alone_and_are_bounded(store, monkeypatch):
    monkeypatch.setattr(draft_module, "_GROUP_ROWS", 3)
    publish(store, *"abcdefgh")

    file = pq.ParquetFile(store.path(NIGHT, CASES))

    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [3, 3, 2]


def test_a_group_ends_early_where_texts_are_large(store, monkeypatch):
    monkeypatch.setattr(draft_module, "_GROUP_BYTES", 5_000)
    publish(store, "x" * 4_000, "y" * 4_000, "z")

    assert pq.ParquetFile(store.path(NIGHT, CASES)).num_row_groups == 2


PUBLISH_MANY = """
import sys
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.rows import case_to_row
from spancheck_pipeline.storage.tables import CASES
for i in range(15):
    row = case_to_row(Case("q", f"{sys.argv[2]}{i}"), 0)
    Store(sys.argv[1]).publish(Night("leases", "2026-03-14"), CASES, [row], identity={}, metadata={})
"""


def test_two_processes_that_publish_at_once_lose_no_revision(store):
    writers = [subprocess.Popen([sys.executable, "-c", PUBLISH_MANY, store.root, letter]) for letter in "ab"]

    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    kept = [next(file.rows())["input"] for file in store.revisions(NIGHT, CASES)]
    assert sorted(kept) == sorted(f"{letter}{i}" for letter in "ab" for i in range(15))


def test_a_read_only_storage_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file")

    with pytest.raises(StorageError, match="a file stands where a folder must be"):
        publish(store, "a")


def _with_passages(n: int, passages: list[str]):
    return [
        case_to_row(case(f"q{i}", contexts=[passages[(i + k) % len(passages)] for k in range(3)]), i) for i in range(n)
    ]


def test_many_large_passages_are_read_back_in_batches_by_everybody(store):
    passages = [f"{i} " + "word " * 400 for i in range(2_000)]
    store.publish(NIGHT, CASES, _with_passages(2_000, passages), identity={}, metadata={})

    file = store.open(NIGHT, CASES)
    path = file.path

    assert [row["contexts"][0]["text"] for row in file.rows(batch_rows=7)] == passages
    assert len(pd.read_parquet(Path(store.root) / "cases")) == 2_000
    assert store.dataset([NIGHT], CASES).to_table().num_rows == 2_000
    texts = duckdb.sql(f"select count(distinct c.text) from (select unnest(contexts) as c from '{path}')").fetchall()
    assert texts == [(2_000,)]
    assert pl.read_parquet(path).height == 2_000


def test_a_passage_that_many_cases_share_is_stored_once(store):
    import secrets

    passages = [secrets.token_hex(2_000) for _ in range(5)]
    store.publish(NIGHT, CASES, _with_passages(900, passages), identity={}, metadata={})

    # 5 passages of 4 kB that no compression shortens below half; 2 700 copies of them would be 10 MB.
    assert Path(store.path(NIGHT, CASES)).stat().st_size < 200_000
