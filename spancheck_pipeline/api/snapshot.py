"""The cases snapshot of a place: made before the first call, kept with the capture, relabelled only when asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spancheck_pipeline.evidence.case import Case, dataset_digest
from spancheck_pipeline.storage.rows import case_from_row, case_to_row
from spancheck_pipeline.storage.store import Place, Published, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What became of a suite's cases at a place. Ids and counts only."""

    published: Published
    dataset_digest: str
    n_cases: int
    is_reused: bool
    """True when the place was captured already, so that its own snapshot stands."""
    relabelled: tuple[str, ...] = ()
    """Ids whose labels were replaced by today's."""
    reworded: tuple[str, ...] = ()
    """Ids whose question is another today: the old question and its old labels stand."""
    added: tuple[str, ...] = ()
    """Ids that the suite has today and the snapshot has not."""
    removed: tuple[str, ...] = ()
    """Ids that the snapshot has and the suite has no more."""

    pending_labels: tuple[str, ...] = ()
    """Ids whose labels are others today and were not asked to be replaced (``relabel``)."""

    def notes(self, place: str) -> tuple[str, ...]:
        """Return what today's cases file says otherwise than the snapshot that stands, one sentence a kind."""
        kinds = {
            "were reworded, and stand as they were asked": self.reworded,
            "were added, and are asked from the next date on": self.added,
            "were removed, and stand all the same": self.removed,
            "have other labels, which --relabel takes over": self.pending_labels,
        }
        return tuple(
            f"since {place} was captured, {len(ids)} case(s) {what}: {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}"  # noqa: PLR2004 - a line
            for what, ids in kinds.items()
            if ids
        )


def read_snapshot(store: Store, place: Place) -> tuple[Case, ...]:
    """Return the cases of a place, in the order of the suite's file."""
    return tuple(case_from_row(row) for row in store.open(place, CASES).rows())


def is_begun(store: Store, place: Place) -> bool:
    """Return whether a place is captured, or a capture of it was begun and can be resumed."""
    return store.exists(place, CAPTURED_RUN) or bool(store.unfinished(place))


def snapshot_cases(store: Store, place: Place, cases: Sequence[Case], *, relabel: bool = False) -> Snapshot:
    """Fix the cases of a place, or return the snapshot that a captured place has.

    A captured place keeps its snapshot. With ``relabel``, cases whose question is the same take today's labels; all
    others keep theirs, and are listed.
    """
    if not (store.exists(place, CASES) and is_begun(store, place)):
        published = publish_cases(store, place, cases)
        return Snapshot(
            published=published, dataset_digest=dataset_digest(list(cases)), n_cases=len(cases), is_reused=False
        )
    kept = read_snapshot(store, place)
    today = {case.id: case for case in cases}
    same = {case.id for case in kept if case.id in today and today[case.id].question_digest == case.question_digest}
    relabelled = tuple(case.id for case in kept if case.id in same and today[case.id].label_digest != case.label_digest)
    merged = tuple(today[case.id] if relabel and case.id in same else case for case in kept)
    published = publish_cases(store, place, merged)
    kept_ids = {case.id for case in kept}
    return Snapshot(
        published=published,
        dataset_digest=dataset_digest(merged),
        n_cases=len(merged),
        is_reused=True,
        relabelled=relabelled if relabel else (),
        pending_labels=() if relabel else relabelled,
        reworded=tuple(case.id for case in kept if case.id in today and case.id not in same),
        added=tuple(case.id for case in cases if case.id not in kept_ids),
        removed=tuple(case.id for case in kept if case.id not in today),
    )


def publish_cases(store: Store, place: Place, cases: Iterable[Case], *, dataset: str | None = None) -> Published:
    """Write the cases of a place, in order; what stood there is kept as an earlier revision.

    ``dataset`` is their digest where it is known: cases that stream by can be digested only once.
    """
    if dataset is None:
        cases = tuple(cases)
        dataset = dataset_digest(cases)

    def rows() -> Iterator[dict[str, object]]:
        for position, case in enumerate(cases):
            yield case_to_row(case, position)

    labels = {"dataset_digest": dataset}
    return store.publish(place, CASES, rows(), identity=labels, metadata={"suite": place.suite, **labels})
