"""The spool: what comes out is what went in, in order, with digests that are those of the whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline.errors import ConfigError, StorageError
from spancheck_pipeline.evidence.case import Case, dataset_digest
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.importers.reading import Reader
from spancheck_pipeline.importers.source import Source
from spancheck_pipeline.importers.spool import Spool, TemporaryDatabase, disk_errors
from spancheck_pipeline.storage.journal import questions_digest


def row(case: Case, epoch: int = 0, answer: str = "a") -> CapturedRow:
    output = Output(answer=answer)
    return CapturedRow(case_id=case.id, question_digest=case.question_digest, epoch=epoch, output=output)


def test_cases_and_rows_come_out_in_the_order_of_the_file() -> None:
    first, second = Case("b", "B?", expected=1.5, criteria=()), Case("a", {"q": ["A?"]}, meta={"n": None})
    with Spool() as spool:
        for case, epoch in ((first, 0), (second, 1), (first, 1)):
            assert spool.add(case, row(case, epoch, f"{case.id}{epoch}")) is None
        assert (spool.n_cases, spool.n_answers, spool.epochs) == (2, 3, 2)
        assert list(spool.cases()) == [first, second]
        assert [(found.case_id, found.epoch, found.error_class) for found in spool.rows()] == [
            ("b", 0, None),
            ("b", 1, None),
            ("a", 0, "NoRecordedAnswer"),
            ("a", 1, None),
        ]


def test_an_answer_twice_and_an_id_with_another_question_are_not_taken() -> None:
    with Spool() as spool:
        case = Case("a", "A?")
        assert spool.add(case, row(case)) is None
        assert spool.add(case, row(case)) == "twice"
        assert spool.add(Case("a", "B?"), row(case, 1)) == "question"
        assert [spool.namesake("x", 0), spool.namesake("x", 0), spool.namesake("x", 1)] == [0, 1, 0]


IDS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=8)


@given(
    st.dictionaries(IDS.filter(str.strip), st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=6)
)
@settings(deadline=None)
def test_digests_of_what_streams_by_are_those_of_the_cases_together(questions: dict[str, str]) -> None:
    cases = [Case(name, text) for name, text in questions.items()]
    with Spool() as spool:
        for case in cases:
            spool.add(case, row(case))
        assert spool.dataset_digest() == dataset_digest(cases)
        assert spool.questions_digest() == questions_digest(cases)
        assert list(spool.cases()) == cases


def test_a_full_disk_is_said_with_the_folder_that_has_no_room() -> None:
    with TemporaryDatabase("CREATE TABLE t(x BLOB)") as full:
        full.db.execute("PRAGMA max_page_count=4")
        with pytest.raises(StorageError, match=r"full.*TMPDIR"), disk_errors():
            full.db.execute("INSERT INTO t VALUES (zeroblob(1000000))")


def read(path: Path, rows: list[dict[str, object]], known: list[Case]) -> list[str]:
    path.write_text("".join(json.dumps(item) + "\n" for item in rows))
    reader = Reader(Source(path=path, format="jsonl"), known)
    with reader.spool:
        reader.read()
        return [case.id for case in reader.spool.cases()]


def test_a_suites_question_asked_again_is_a_case_of_its_own_and_its_id_twice_is_a_mistake(tmp_path: Path) -> None:
    known = [Case("q1", "A?", answerable=True)]
    own: dict[str, object] = {"id": "q1", "input": "A?", "answer": "x"}
    assert read(tmp_path / "a.jsonl", [own, {**own, "id": "t9"}, {**own, "id": None}], known) == ["q1", "q1-2", "q1-3"]
    with pytest.raises(ConfigError, match=r"a\.jsonl:2: the id 'q1' stands twice"):
        read(tmp_path / "a.jsonl", [own, own], known)
