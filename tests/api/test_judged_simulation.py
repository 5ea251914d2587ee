"""A judge of known errors all the way: asked through the capture, calibrated, kept, read back, corrected."""

from __future__ import annotations

import random

from gold import gold
from gold import item as gold_item

from spancheck_pipeline.api.calibrating import calibrate_subject
from spancheck_pipeline.api.judging import judge_packets
from spancheck_pipeline.api.trusting import served_models
from spancheck_pipeline.decision.judged_rates import JudgedPacket, JudgeFacts, judge_figures
from spancheck_pipeline.decision.judges import JudgesFile, judges_of
from spancheck_pipeline.decision.standing import CalibrationPolicy
from spancheck_pipeline.decision.trust import subject_of
from spancheck_pipeline.evidence.packet import entailment_packet
from spancheck_pipeline.evidence.run import Output, TargetFacts
from spancheck_pipeline.storage.calibrations import calibrations_of
from spancheck_pipeline.storage.judges_file import DeclaredJudges
from spancheck_pipeline.storage.store import Store

SENSITIVITY, SPECIFICITY, TRUE_RATE = 0.85, 0.75, 0.9
N_NIGHTS, N_PACKETS, N_GOLD = 24, 150, 60

FILE = JudgesFile.model_validate({"contract": 1, "judges": {"j": {"openai": {}, "model": "m", "concurrency": 64}}})
DECLARED = DeclaredJudges(settings=FILE.judges, judges=judges_of(FILE))
JUDGE = DECLARED.judges["j"]


class Scripted:
    """Says what a claim bids it to: its errors were drawn when the claim was written."""

    facts = TargetFacts(kind="judge", reference="j", version=JUDGE.identity, settings_digest="d")
    abandoned = 0

    async def call(self, case, epoch):  # noqa: ARG002 - a target is called so
        label = "supported" if case.input["claim"].endswith("yes") else "not_supported"
        raw = {"label": label, "score": float(label == "supported"), "reason": "r"}
        return Output(answer="reply", raw=raw, served_model="m-1", finish_reason="stop")

    async def close(self):
        pass


def load(judge, settings):
    return Scripted()


def claim(rng, name, *, is_true):
    says_yes = rng.random() < (SENSITIVITY if is_true else 1 - SPECIFICITY)
    return f"{name} {'yes' if says_yes else 'no'}"


def test_the_corrected_rate_holds_the_truth_where_the_raw_one_does_not(tmp_path):
    rng = random.Random(7)
    nights = [
        [
            entailment_packet(claim(rng, f"night {n} {i}", is_true=rng.random() < TRUE_RATE), "e")
            for i in range(N_PACKETS)
        ]
        for n in range(N_NIGHTS)
    ]
    store = Store(tmp_path)
    judged = judge_packets(store, DECLARED, ((JUDGE, p) for night in nights for p in night), load_judge=load)
    assert (judged.n_calls, judged.n_failed) == (N_NIGHTS * N_PACKETS, 0)

    n_raw = n_corrected = 0
    for n, night in enumerate(nights):
        items = [
            gold_item(f"{is_true}{i}", is_true).model_copy(
                update={"claim": claim(rng, f"gold {n} {is_true} {i}", is_true=is_true)}
            )
            for is_true in (True, False)
            for i in range(N_GOLD)
        ]
        calibrate_subject(store, DECLARED, "j", gold(items, domain=f"d{n}"), by="t", load_judge=load)
        stored = next(c for c in calibrations_of(store, "j") if c.calibrated.document.gold.domain == f"d{n}")
        opinions = [JUDGE.opinion(packet, judged.book) for packet in night]
        figures = judge_figures(
            JudgeFacts(
                subject=subject_of(JUDGE),
                graders=("g",),
                packets=[
                    JudgedPacket(cluster=(False, str(i)), supported=o.supported, code=o.code)
                    for i, o in enumerate(opinions)
                ],
                served_models=served_models(JUDGE, judged.book),
                calibrations=[stored.calibrated],
            ),
            CalibrationPolicy(min_gold=100, min_negatives=30, min_sensitivity=0.6, min_specificity=0.5),
            domain=f"d{n}",
        )
        assert figures.standing.gates
        assert figures.corrected.method == "rogan_gladen"
        n_raw += figures.raw.low <= TRUE_RATE <= figures.raw.high
        n_corrected += figures.corrected.low <= TRUE_RATE <= figures.corrected.high

    # The raw rate is .9 x .85 + .1 x .25 = .79, some four standard errors below the truth. Of 24 intervals of 95 %
    # one or two miss it; fewer than 21 would hold it in three of a hundred such simulations.
    assert n_corrected >= 21
    assert n_raw <= 4
