"""Every column has a sentence, and none is kept for a column that is gone."""

from spancheck_pipeline.storage.columns import _ELSEWHERE, COLUMNS, described
from spancheck_pipeline.storage.tables import CASES, GATE, TABLES


def test_every_column_of_every_table_has_a_sentence():
    for table in TABLES.values():
        for field in table.schema:
            assert described(table, field.name).endswith("."), (table.name, field.name)


def test_a_column_that_means_something_else_in_one_table_says_so_there():
    assert "never sees" in described(CASES, "contexts")
    assert "INCONCLUSIVE" in described(GATE, "answer")


def test_no_sentence_is_left_of_a_column_that_no_table_has():
    there = {field.name for table in TABLES.values() for field in table.schema}
    places = {(table.name, field.name) for table in TABLES.values() for field in table.schema}

    assert not set(COLUMNS) - there
    assert not set(_ELSEWHERE) - places
