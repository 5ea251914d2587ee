"""Deciding anew about what is not as it was is refused, whatever the file's own metadata say."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scenario import Project
from two_nights import A, B, regrade, two_nights

from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.defs.captured_run import refuse_past
from spancheck_pipeline.defs.partitions import daily
from spancheck_pipeline.defs.suite_defs import SuiteDefs
from spancheck_pipeline.errors import CaptureRefusedError, CorruptFileError, MissingDataError
from spancheck_pipeline.storage.datasets import load_suite
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, GATE


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Store:
    return two_nights(tmp_path_factory.mktemp("nights"))


@pytest.fixture
def store(whole, tmp_path) -> Store:
    shutil.copytree(whole.root, tmp_path / "storage")
    return Store(tmp_path / "storage")


def edit(path: str, column: str, text: str) -> None:
    """Put a text in every row of a column; the file's metadata stay as they are."""
    table = pq.ParquetFile(path).read()
    at = table.schema.get_field_index(column)
    cells = pa.array([text] * table.num_rows, table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), cells), path)


def test_an_untouched_night_is_decided_again_as_it_was(store):
    before = store.open(B, GATE).revision
    regrade(store, B, min_pass_rate={"citation_accuracy": 0.51})
    assert store.open(B, GATE).revision == before + 1


@pytest.mark.parametrize(("table", "column"), [(CAPTURED_RUN, "answer"), (CASES, "category")])
def test_an_edited_cell_is_decided_about_by_nobody(store, table, column):
    edit(store.path(B, table), column, "all")
    with pytest.raises(CorruptFileError, match=r"not what its content digest is of.*restore it from a backup"):
        regrade(store, B)


def test_a_batch_that_a_decision_saw_may_not_be_gone(store):
    for batch in Path(store.root).glob("adjudications/**/*.parquet"):
        batch.unlink()
    with pytest.raises(MissingDataError, match=r"batch of dispositions .* is gone, though the scorecard saw"):
        regrade(store, A)


def test_a_decision_that_is_gone_is_not_made_again_beside_its_record(store):
    Path(store.path(B, GATE)).unlink()
    with pytest.raises(MissingDataError, match="an audit log of a decision that is gone"):
        regrade(store, B)


def test_an_erased_past_night_is_told_from_one_that_was_never_captured(store, tmp_path):
    project = Project(tmp_path / "project")
    for folder in Path(store.root).glob(f"*/suite=small/date={A.date}"):
        if "seals" not in folder.parts:
            shutil.rmtree(folder)
    environment = project.environment
    loaded = load_suite(environment.datasets, "small", load_attribute)
    suite = SuiteDefs(loaded=loaded, environment=environment, partitions=daily(environment))
    with pytest.raises(CaptureRefusedError, match=r"a log was sealed here at .* and is gone; restore the night"):
        refuse_past(suite, store, A, allow_past=False)
    with pytest.raises(CaptureRefusedError, match="was never captured and is over"):
        refuse_past(suite, store, Night("small", "2026-01-04"), allow_past=False)
