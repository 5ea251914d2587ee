"""Findings out to people and their signed-off dispositions back in, through a file that a spreadsheet survives.

Scores are never touched. What a disposition does to a rate lives in ``adjudicating.py``; the file's form in
``storage/sheets.py``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from spancheck_pipeline.api.review_subjects import REVIEWED, Subject, subjects, whole_subjects
from spancheck_pipeline.decision.adjudication import Adjudication, Disposition, FindingKey, standing
from spancheck_pipeline.errors import ConfigError, MissingDataError, Problem, UsageError
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.storage.adjudications import append_adjudications, read_adjudications
from spancheck_pipeline.storage.sheets import Filled, read_date, read_sheet, write_sheet
from spancheck_pipeline.storage.store import Place, Store
from spancheck_pipeline.storage.wording import nearest

COLUMNS: Final = (
    "row", "disposition", "why", "expires", "author", "signed_by", "case_id", "epoch", "category", "grader", "item",
    "outcome", "grade", "reason", "question", "answer", "part_of_answer", "source_id", "part_of_source", "expected",
)  # fmt: skip
"""The first five are for people to fill in, but ``row``, which says which finding a row is of.

``signed_by`` is who signed what stands there already. ``author`` is empty then, so that nobody changes a disposition
under another's name.
"""


_FAR: Final = dt.timedelta(days=731)
"""Two years: a waiver that holds for longer is remarked on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What reading a filled-in file did."""

    n_new: int
    n_same: int
    """Rows that say what stands already."""
    n_blank: int
    """Rows without a disposition."""
    changed: tuple[tuple[Adjudication, Adjudication], ...]
    """What stood before and what is said now, where the one is not the other or somebody else says it."""
    n_without_effect: int
    """New dispositions of what could not be measured: it stays unmeasured."""
    n_far: int
    """New waivers that hold for more than two years: as often a wrong digit as a decision."""
    path: str | None
    """The batch that was written; None where nothing is new."""


def export_review(
    store: Store,
    place: Place,
    path: Path,
    *,
    outcomes: Collection[Outcome] = REVIEWED,
    graders: Collection[str] = (),
) -> int:
    """Write the findings of a recorded place for people to fill in, with what was signed before; return how many."""
    known = standing(read_adjudications(store, place))

    def rows() -> Iterator[dict[str, Any]]:
        for subject in subjects(store, place, outcomes=outcomes, graders=graders):
            before = known.get(subject.key)
            cells: dict[str, Any] = {"row": subject.row, **subject.shown}
            if before is not None and before.finding_digest == subject.finding_digest:
                cells |= {
                    "disposition": before.disposition.value,
                    "why": before.reason,
                    "expires": before.last_day,
                    "signed_by": before.author,
                }
            yield cells

    return write_sheet(path, COLUMNS, rows())


# -- back in ----------------------------------------------------------------------------------------------------


def import_review(store: Store, place: Place, path: Path, *, author: str, signed_at: dt.datetime) -> Signed:
    """Append the dispositions of a filled-in file; nothing is kept where one row is wrong.

    ``author`` signs the rows that name nobody. A row that says what stands already is passed over, so that a file can
    be read twice.

    Raises:
        ConfigError: naming every row that cannot be taken, with its line.
        MissingDataError: when the place has no record.
    """
    rows = list(_answered(path))
    filled = [row for row in rows if row.cell("disposition")]
    n_rows = sum(1 for _ in read_sheet(path, ["row", "disposition"]))
    wanted = {row.cell("row") for row in filled}
    # What was exported may have been of any outcome.
    found = {s.row: s for s in subjects(store, place, outcomes=frozenset(Outcome)) if s.row in wanted}
    found |= whole_subjects(store, place, wanted - found.keys())
    problems = [
        Problem(
            what="has `why` or `expires` and no disposition",
            line=row.line,
            fix="write confirmed, passes, fails or waived, or empty both",
        )
        for row in rows
        if not row.cell("disposition")
    ]
    made: dict[FindingKey, Adjudication] = {}
    unnamed: set[FindingKey] = set()
    for row in filled:
        item = _read(row, found, author, signed_at, problems)
        if item is not None and item.key in made and made[item.key] != item:
            problems.append(Problem(what="says something else than an earlier row of the same finding", line=row.line))
        elif item is not None:
            made[item.key] = item
            if not row.cell("author"):
                unnamed.add(item.key)
    if problems:
        raise ConfigError(str(path), problems)
    before = standing(read_adjudications(store, place))
    new = [item for key, item in made.items() if not _says_the_same(item, before.get(key), whoever=key in unnamed)]
    there = [(before[item.key], item) for item in new if item.key in before]
    published = append_adjudications(store, place, new) if new else None
    return Signed(
        n_new=len(new),
        n_same=len(made) - len(new),
        n_blank=n_rows - len(filled),
        path=published.path if published else None,
        changed=tuple(pair for pair in there if _is_another(*pair)),
        n_without_effect=sum(
            item.outcome is Outcome.UNMEASURED and item.disposition is not Disposition.CONFIRMED for item in new
        ),
        n_far=sum(
            item.disposition is Disposition.WAIVED
            and item.expires_at is not None
            and item.expires_at - item.signed_at > _FAR
            for item in new
        ),
    )


def _answered(path: Path) -> Iterator[Filled]:
    """Yield the rows in which a person wrote something that decides."""
    for row in read_sheet(path, ["row", "disposition"]):
        if row.cell("disposition") or row.cell("why") or row.cell("expires"):
            yield row


def _is_another(before: Adjudication, now: Adjudication) -> bool:
    is_of_the_same = (before.run_id, before.finding_digest) == (now.run_id, now.finding_digest)
    return is_of_the_same and (before.disposition, before.author) != (now.disposition, now.author)


_NO_NEWS: Final = {
    (Outcome.FAIL, Disposition.FAILS): "failed",
    (Outcome.PASS, Disposition.PASSES): "passed",
    (Outcome.PASS, Disposition.WAIVED): "passed",
}
"""Dispositions that would change nothing, and so are likely meant otherwise."""


def _read(
    row: Filled,
    found: Mapping[str, Subject],
    author: str,
    signed_at: dt.datetime,
    problems: list[Problem],
) -> Adjudication | None:
    def wrong(what: str, fix: str | None = None) -> None:
        problems.append(Problem(what=what, line=row.line, fix=fix))

    subject = found.get(row.cell("row"))
    word = row.cell("disposition").lower()
    if subject is None:
        wrong(
            "its `row` is no finding that stands here now",
            "it is of another date, or was scored or captured again since; export the findings again",
        )
        return None
    if word not in set(Disposition):
        wrong(f"{word[:40]!r} is no disposition", nearest(word, [item.value for item in Disposition]))
        return None
    if said := _NO_NEWS.get((subject.outcome, Disposition(word))):
        # Not the end of it: what else is wrong with the row is said too.
        wrong(f"`{word}` says nothing new of a finding that {said}", "write confirmed, if it is right")
    try:
        expires_at = _end_of(row.cell("expires"))
    except ValueError as error:
        wrong(f"`expires`: {error}")
        return None
    if not row.cell("why"):
        wrong("has a disposition and no `why`", "say why in one sentence")
        return None
    fields: dict[str, Any] = {
        "run_id": subject.run_id,
        "grader": subject.key.grader,
        "case_id": subject.key.case_id,
        "epoch": subject.key.epoch,
        "item": subject.key.item,
        "finding_digest": subject.finding_digest,
        "outcome": subject.outcome,
        "disposition": Disposition(word),
        "reason": row.cell("why"),
        "author": row.cell("author") or author,
        "signed_at": signed_at,
        "expires_at": expires_at,
    }
    try:
        return Adjudication(**fields)
    except ValidationError as error:
        for detail in error.errors(include_input=False, include_url=False, include_context=False):
            wrong(detail["msg"].removeprefix("Value error, "), "write a later day into `expires` (YYYY-MM-DD)")
        return None


def _end_of(text: str) -> dt.datetime | None:
    """Return the instant after a last day; None for an empty cell.

    Raises:
        ValueError: for what is no date.
    """
    if not text:
        return None
    day = read_date(text)
    return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC) + dt.timedelta(days=1)


def _says_the_same(item: Adjudication, before: Adjudication | None, *, whoever: bool) -> bool:
    """Return whether what stands already is said again, by the same person or, where the row names none, by anybody."""
    if before is None:
        return False
    author = item.author if whoever else before.author
    return item == before.model_copy(update={"signed_at": item.signed_at, "author": author})


def listed(store: Store, place: Place) -> Sequence[Adjudication]:
    """Return the dispositions that stand at a place, in the order of cases.

    Raises:
        MissingDataError: when there is none.
    """
    found = standing(read_adjudications(store, place))
    if not found:
        raise MissingDataError(f"{place}: nobody signed a disposition; export findings with --to, and read them --from")
    return [found[key] for key in sorted(found)]


def signed_in_order(store: Store, place: Place) -> Sequence[Adjudication]:
    """Return everything that was ever signed at a place, the first first, what no longer stands among it.

    Raises:
        MissingDataError: when nothing was.
    """
    if found := read_adjudications(store, place):
        return found
    raise MissingDataError(f"{place}: nobody signed a disposition; export findings with --to, and read them --from")


def check_author(name: str) -> str:
    """Return the name of who signs.

    Raises:
        UsageError: for an empty one.
    """
    if not name.strip():
        raise UsageError("--author is empty: a disposition is signed by somebody")
    return name.strip()


__all__ = [
    "COLUMNS", "Signed", "check_author", "export_review", "import_review", "listed", "signed_in_order",
]  # fmt: skip
