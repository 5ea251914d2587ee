"""Refusing to decide anew about what is not as it was: outputs, labels or scores that were edited, and what has gone.

``audit verify`` names all that is wrong with a record (``auditing_place.py``); here a decision stops at the first.
"""

from __future__ import annotations

from spancheck_pipeline.api.adjudicating import INPUT, adjudication_inputs
from spancheck_pipeline.api.facts import Evidence
from spancheck_pipeline.errors import CorruptFileError, MissingDataError
from spancheck_pipeline.storage.digests import content_fault
from spancheck_pipeline.storage.store import Place, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG, GATE, SCORECARD

_RESTORE = "keep it as it is, and restore it from a backup (spancheck audit verify says what else is wrong)"


def check_unchanged(evidence: Evidence) -> None:
    """Refuse outputs, labels and scores whose rows are not what their content digest is of.

    Raises:
        CorruptFileError: naming the file.
    """
    for file in (evidence.captured, evidence.cases, *evidence.scores.values()):
        if fault := content_fault(file):
            raise CorruptFileError(f"{fault}; {_RESTORE}")


def check_dispositions_kept(store: Store, place: Place) -> None:
    """Refuse a place of which a signed batch is gone or rewritten that its last scorecard saw.

    Raises:
        MissingDataError: naming the batch.
    """
    if not store.exists(place, SCORECARD):
        return
    now = adjudication_inputs(store, place)
    for name, seen in store.open(place, SCORECARD).document()["inputs"].items():
        if name.startswith(f"{INPUT}/") and now.get(name) != seen:
            what = "another one than" if name in now else "gone, though"
            raise MissingDataError(f"{place}: the batch of dispositions {name} is {what} the scorecard saw; {_RESTORE}")


def check_decision_kept(store: Store, place: Place) -> None:
    """Refuse to decide where there is a record of a decision and the decision itself is gone.

    Raises:
        MissingDataError: saying so.
    """
    if store.exists(place, AUDIT_LOG) and not store.exists(place, GATE):
        raise MissingDataError(
            f"{place}: there is an audit log of a decision that is gone ({store.path(place, GATE)}); {_RESTORE}"
        )
