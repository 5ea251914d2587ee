"""Gold sets on disk: JSONL, one labelled item a line, and beside it a YAML file of the same name about the whole.

    support.jsonl   {"id": "n1", "claim": "…", "evidence": "…", "label": "supported", "stratum": "number"}
    support.yaml    contract: 1, domain: leases, sampling: stress, policy: |  …

Every mistake is reported at once, with its line. What an item is lives in ``evidence/gold.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.complaints import dotted
from spancheck_pipeline.evidence.gold import Domain, GoldItem, GoldSet, Sampling
from spancheck_pipeline.storage.case_rows import Report, Row, jsonl_rows
from spancheck_pipeline.storage.wording import nearest, worded
from spancheck_pipeline.storage.yaml_document import model_of, read_yaml

GOLD_FOLDER: Final = "gold"
"""Folder of the project's gold sets, in the datasets folder."""

_EXAMPLE: Final = '{"id": "n1", "claim": "…", "evidence": "…", "label": "supported"}'
_FIELDS: Final = ("id", "claim", "evidence", "span", "label", "answer", "stratum", "group", "labellers", "policy")
_WORDS: Final = {"supported": True, "not_supported": False}
_LABELS: Final = "supported or not_supported (or true, false, 1, 0)"


class _About(BaseModel):
    """What ``<name>.yaml`` says of ``<name>.jsonl``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contract: Literal[1]
    domain: Domain | None = None
    sampling: Sampling = "stress"
    policy: str = ""
    tied: tuple[tuple[bool, ...], ...] = ()


def gold_files(datasets: Path) -> tuple[Path, ...]:
    """Return the gold sets of a datasets folder, in the order of their names."""
    return tuple(sorted((datasets / GOLD_FOLDER).glob("*.jsonl")))


def read_gold(
    path: str | Path, *, domain: str | None = None, sampling: Sampling | None = None, policy: str | None = None
) -> GoldSet:
    """Return a gold set; what is given here takes the place of what the file beside it says.

    A set whose domain nobody says is of the domain ``general``.

    Raises:
        ContractError: for a YAML file beside it that is of another contract.
        ConfigError: with every problem and its line: unreadable lines, unknown columns and labels, ids that stand
            twice, the same claim on the same evidence again, missing claims, evidence or labels, or no item at all.
        UsageError: for a domain that is no name.
    """
    path = Path(path)
    about = _about(path)
    report = Report(file=str(path))
    if path.suffix.lower() != ".jsonl":
        report.add("a gold set is named .jsonl", fix="write one JSON object a line")
    elif not path.is_file():
        report.add("there is no such file", fix="name a JSONL file of labelled claims")
    report.raise_if_any()
    items = tuple(_items(jsonl_rows(path, report, example=_EXAMPLE), report))
    if not items and not report.problems:
        report.add("the file holds no item", fix="write at least one")
    report.raise_if_any()
    try:
        return GoldSet(
            name=path.stem,
            domain=domain or about.domain or "general",
            sampling=sampling or about.sampling,
            policy=about.policy if policy is None else policy,
            items=items,
            tied=about.tied,
        )
    except ValidationError:
        raise UsageError(
            f"{str(domain)[:80]!r} is no domain: a lower-case letter, then lower-case letters, digits or _, at most 63"
        ) from None


def gold_of_rows(rows: Iterable[Mapping[str, Any]]) -> GoldSet:
    """Return labelled claims that are at hand as a gold set; one without an id is called by its place, from 1.

    Raises:
        ConfigError: with everything that is wrong, each with the number of its row.
    """
    report = Report(file="gold")
    items = tuple(_items(_numbered(rows, report), report))
    if not items and not report.problems:
        report.add("there is no item", fix="give at least one")
    report.raise_if_any()
    return GoldSet(name="gold", domain="general", items=items)


def _numbered(rows: Iterable[Mapping[str, Any]], report: Report) -> Iterator[Row]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, Mapping):
            yield Row(cells={"id": f"item-{number}", **row}, number=number)
        else:
            report.add(f"row {number}: it is of type {type(row).__name__}", fix=f"give mappings: {_EXAMPLE}")


def _about(path: Path) -> _About:
    beside = path.with_suffix(".yaml")
    if not beside.exists():
        return _About(contract=1)
    document = read_yaml(beside)
    return model_of(document, _About)


def _items(rows: Iterable[Row], report: Report) -> list[GoldItem]:
    items: list[GoldItem] = []
    first: dict[str, str] = {}
    asked: dict[tuple[str, ...], tuple[str, bool]] = {}
    for row in rows:
        item = _item(row, report)
        if item is None:
            continue
        if item.id in first:
            what = f"the id {item.id[:80]!r} stands twice (first in {first[item.id]})"
            report.add_to(row, what, "give every item its own id")
            continue
        first[item.id] = row.place
        _refuse_again(item, row, asked, report)
        items.append(item)
        if report.is_full:
            break
    return items


def _refuse_again(item: GoldItem, row: Row, asked: dict[tuple[str, ...], tuple[str, bool]], report: Report) -> None:
    """Report an item that asks what another one asks: copies would make a judge look better known than it is."""
    question = tuple(" ".join(text.split()) for text in (item.claim, item.answer or "", *item.evidence))
    place, label = asked.setdefault(question, (row.place, item.label))
    if place == row.place:
        return
    if label is item.label:
        report.add_to(row, f"it has the claim and the evidence of {place}", "keep one: an item counts once")
    else:
        report.add_to(
            row,
            f"it has the claim and the evidence of {place}, and the opposite label",
            "keep one, with the label that holds; what several people said goes into 'labellers'",
        )


def _item(row: Row, report: Report) -> GoldItem | None:
    """Return the item of a row, or None after reporting everything that is wrong with it."""
    n_known = len(report.problems)
    cells = _known_cells(row, report)
    for name in ("id", "claim", "evidence", "label"):
        if cells.get(name) in (None, "", [], [""]):
            report.add_to(row, f"{name!r} is missing or empty")
    _read_labels(cells, row, report)
    if len(report.problems) > n_known:
        return None
    try:
        return GoldItem.model_validate(cells)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False, include_context=False):
            report.add_to(row, f"{dotted(detail['loc'])}: {worded(detail)}")
        return None


def _known_cells(row: Row, report: Report) -> dict[str, Any]:
    """Return the cells of a row under an item's names; ``span`` is ``evidence``, and one text is a list of one."""
    for name in sorted(row.cells.keys() - set(_FIELDS)):
        report.add_to(row, f"unknown column {name[:80]!r}", nearest(name, _FIELDS))
    cells = {name: row.cells[name] for name in _FIELDS if row.cells.get(name) is not None}
    if "span" in cells and "evidence" in cells:
        report.add_to(row, "it has both 'evidence' and 'span'", "keep one: they are the same")
    if "span" in cells:
        cells["evidence"] = cells.pop("span")
    if isinstance(cells.get("evidence"), str):
        cells["evidence"] = [cells["evidence"]]
    for name in ("id", "group"):
        if isinstance(cells.get(name), int) and not isinstance(cells[name], bool):
            cells[name] = str(cells[name])
    return cells


def _read_labels(cells: dict[str, Any], row: Row, report: Report) -> None:
    if "label" in cells:
        cells["label"] = _label(cells["label"])
        if cells["label"] is None:
            report.add_to(row, f"'label' must be {_LABELS}")
    if "labellers" in cells:
        votes = cells["labellers"]
        labels = [_label(vote) for vote in votes] if isinstance(votes, list) else [None]
        if None in labels:
            report.add_to(row, f"'labellers' must be a list of {_LABELS}")
        elif labels and cells.get("label") is not None and set(labels) == {not cells["label"]}:
            fix = "correct the one or the other"
            report.add_to(row, "'label' is the opposite of what all 'labellers' say", fix)
        cells["labellers"] = labels


def _label(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _WORDS.get(value)
    return bool(value) if isinstance(value, int) and value in {0, 1} else None


__all__ = ["GOLD_FOLDER", "gold_files", "gold_of_rows", "read_gold"]
