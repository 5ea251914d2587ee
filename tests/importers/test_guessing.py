"""Which format a file looks like: right for every recorded example, and silent where nothing tells."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from recorded_files import (
    DEEPEVAL,
    DEEPEVAL_RUN,
    INSPECT,
    LANGFUSE,
    PROMPTFOO,
    RAGAS,
    RAGAS_OLDER,
    ROWS,
    SPANCHECK,
    document,
    jsonl,
    langfuse_observations,
    openinference_spans,
    otlp_spans,
)

from spancheck_pipeline.importers.guessing import likely_format

EXAMPLES = [
    ("ragas", RAGAS),
    ("ragas", RAGAS_OLDER),
    ("deepeval", DEEPEVAL),
    ("deepeval", DEEPEVAL_RUN),
    ("promptfoo", PROMPTFOO),
    ("inspect_ai", INSPECT),
    ("spancheck", SPANCHECK),
    ("spancheck", {"results": SPANCHECK["cases"]}),
    ("langfuse", LANGFUSE),
    ("langfuse", langfuse_observations()),
    ("openinference", openinference_spans()),
    ("otel_genai", otlp_spans()),
]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_every_recorded_example_looks_like_its_own_format(tmp_path: Path, name: str, example: object) -> None:
    assert likely_format(document(tmp_path / "a.json", example)) == name
    if isinstance(example, list) or name in {"langfuse", "otel_genai"}:
        rows = example if isinstance(example, list) else [example]
        assert likely_format(jsonl(tmp_path / "a.jsonl", rows)) == name


def test_plain_rows_look_like_the_kind_of_file_that_they_stand_in(tmp_path: Path) -> None:
    assert likely_format(jsonl(tmp_path / "a.jsonl", ROWS)) == "jsonl"
    pd.DataFrame(ROWS[:1]).to_parquet(tmp_path / "a.parquet")
    assert likely_format(tmp_path / "a.parquet") == "parquet"
    (tmp_path / "a.csv").write_text("id,input,answer\nq1,x,y\n")
    assert likely_format(tmp_path / "a.csv") == "csv"


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\x00\xff", '{"subject": "x"}', "[[1], 2]", '{"a": [3]}'])
def test_what_looks_like_nothing_is_not_guessed(tmp_path: Path, content: str) -> None:
    for name in ("a.json", "a.jsonl", "a.csv", "a.parquet", "a"):
        path = tmp_path / name
        path.write_text(content)
        assert likely_format(path) is None
    assert likely_format(tmp_path / "none.json") is None
