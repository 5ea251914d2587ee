"""The folder of a new suite: whole, or not there at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from scenario import case, output, row

from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.importers.starter import write_suite
from spancheck_pipeline.storage.datasets import list_suites, load_cases, load_suite


def test_a_new_suite_is_one_that_can_be_loaded_with_its_answers(tmp_path: Path) -> None:
    asked = case("q1")
    write_suite(tmp_path / "mine", "mine", iter([asked]), iter([row(asked, output())]), origin="a.jsonl (ragas)")
    loaded = load_suite(tmp_path, "mine")
    assert load_cases(loaded.folder, loaded.suite.cases) == (asked,)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileExistsError):
        write_suite(tmp_path / "mine", "mine", [], [], origin="x")
    assert list((tmp_path / "mine").iterdir()) == []


def test_what_fails_half_way_leaves_no_suite(tmp_path: Path) -> None:
    def rows() -> Iterator[CapturedRow]:
        yield row(case(), output())
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_suite(tmp_path / "mine", "mine", [case()], rows(), origin="x")
    assert list(tmp_path.iterdir()) == []
    assert list_suites(tmp_path) == ()
