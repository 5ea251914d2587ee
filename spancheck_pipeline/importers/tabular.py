"""Plain rows: JSONL, CSV or Parquet, one answer a row, with a column map where the names differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spancheck_pipeline.clients.answer import OUTPUT_NAMES
from spancheck_pipeline.importers.record import CASE_NAMES, Record, epoch_of, structured_cells
from spancheck_pipeline.storage.case_rows import READERS, Report


def read_rows(path: Path, report: Report, *, suffix: str) -> Iterator[Record]:
    """Yield the rows of a file in the format of a suffix. Columns that are neither case nor output are left out."""
    for row in READERS[suffix](path, report):
        cells = structured_cells(row.cells)
        case = {name: cells[name] for name in CASE_NAMES if cells.get(name) is not None}
        if "id" not in case and cells.get("case_id") is not None:
            case["id"] = cells["case_id"]
        if isinstance(case.get("answerable"), str):
            case["answerable"] = {"true": True, "false": False}.get(
                case["answerable"].strip().lower(), case["answerable"]
            )
        output = {name: cells[name] for name in OUTPUT_NAMES if cells.get(name) is not None}
        error = cells.get("error")
        yield Record(
            case=case,
            output=output,
            error=str(error) if error else None,
            epoch=epoch_of(cells.get("epoch")),
            where=row.place,
            line=row.line,
            source=cells,
        )
