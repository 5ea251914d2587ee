"""Planning a run on stored history: which captured run tells what the next one will need. Nothing is called.

The arithmetic lives in ``decision/plan.py``, usage of captured runs in ``usage.py``; stopping a run that spends too
much in ``spending.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spancheck_pipeline.api.judge_needs import asked_judges, needed_judges, needed_packets
from spancheck_pipeline.api.usage import answer_facts, latest_night
from spancheck_pipeline.decision.plan import CHARACTERS_A_TOKEN, AnswerFacts, History, JudgeLoad, PlanDocument, plan
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.evidence.canonical import canonical_json
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.grading.judge import Judge, prompt_named
from spancheck_pipeline.storage.judges_file import DeclaredJudges
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, JUDGE_VERDICTS
from spancheck_pipeline.storage.verdicts import verdict_from_row


def plan_suite(
    store: Store,
    suite: Suite,
    cases: Sequence[Case],
    *,
    config: str | None = None,
    graders: Sequence[Grader] = (),
    judges: DeclaredJudges | None = None,
) -> PlanDocument:
    """Return what a run of a suite (in one of its configurations) will ask and cost.

    What answers need is taken from the latest captured night of the same target, else from the cases and assumptions;
    what judges need from the packets of that night and from the verdicts that they gave before.
    """
    night = latest_night(store, suite)
    history = None
    if night is not None:
        file = store.open(night, CAPTURED_RUN)
        history = History(file.run_id, list(answer_facts(file)))
    return plan(
        suite,
        cases,
        config=config,
        history=history,
        judges=judge_loads(store, night, graders, judges) if judges is not None else (),
        asks_faithful=any(judge.kind == "faithful" for judge in needed_judges(graders)),
    )


def judge_loads(
    store: Store, night: Night | None, graders: Sequence[Grader], declared: DeclaredJudges
) -> tuple[JudgeLoad, ...]:
    """Return what the judges of some graders will be asked, by the answers of a captured night."""
    packets: dict[str, dict[str, int]] = {}
    n_rows = 0
    if night is not None:
        n_rows = store.open(night, CAPTURED_RUN).n_rows
        for judge, packet in needed_packets(store, night, graders):
            for member in judge.asked:
                packets.setdefault(member.name, {})[packet.digest] = len(canonical_json(packet.as_dict()))
    loads = []
    for judge in asked_judges(graders):
        settings = declared.settings[judge.name]
        lengths = list(packets.get(judge.name, {}).values())
        length = sum(lengths) / len(lengths) if lengths else _ASSUMED_PACKET
        loads.append(
            JudgeLoad(
                name=judge.name,
                runs=judge.runs,
                retries=settings.retries,
                n_packets=len(lengths),
                n_rows=n_rows,
                prompt_tokens=(len(prompt_named(judge.prompt).text) + length) / CHARACTERS_A_TOKEN,
                answers=_used(store, night, judge),
                prices=settings.prices,
                is_free=settings.kind == "stub",
                run_id=store.open(night, CAPTURED_RUN).run_id if night else None,
            )
        )
    return tuple(loads)


_ASSUMED_PACKET: Final = 1_200
"""Characters of a claim with its evidence, where no captured run says it."""


def _used(store: Store, night: Night | None, judge: Judge) -> list[AnswerFacts]:
    """Return what the recorded calls of a judge on a night used."""
    if night is None or not store.exists(night, JUDGE_VERDICTS):
        return []
    rows = store.open(night, JUDGE_VERDICTS).rows()
    verdicts = (verdict_from_row(row) for row in rows if row["identity"] == judge.identity)
    return [AnswerFacts(v.usage, v.served_model, v.attempts) for v in verdicts if v.is_answer]
