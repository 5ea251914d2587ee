"""Kept answers of judges: found by packet, kept once, and made into one file when they become many."""

from __future__ import annotations

from scenario import AT

from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.evidence.verdict import Verdict
from spancheck_pipeline.grading.judge import Judge
from spancheck_pipeline.storage import verdicts
from spancheck_pipeline.storage.store import Store

JUDGE = Judge(name="one", client="callable")
PACKETS = [Packet("entailment", f"The notice is {n} days.", ("The notice is 3 days.",)) for n in range(80)]


def verdict(packet: Packet, **fields) -> Verdict:
    told = {
        "judge": JUDGE.name,
        "identity": JUDGE.identity,
        "prompt": JUDGE.prompt,
        "prompt_digest": JUDGE.prompt_digest,
        "packet_kind": packet.kind,
        "packet_version": packet.version,
        "packet_digest": packet.digest,
        "label": "supported",
        "score": 1.0,
        "reason": "It says so.",
        "reply": '{"label": "supported"}',
        "finish_reason": "stop",
        "judged_at": AT,
    }
    return Verdict.model_validate({**told, **fields})


def failed(packet: Packet) -> Verdict:
    nothing = dict.fromkeys(("label", "score", "reason", "reply"))
    return verdict(packet, **nothing, error_class="TimeoutError", finish_reason="timeout")


def asked(store: Store, *packets: Packet) -> list[Verdict]:
    return list(verdicts.kept(store, JUDGE, [packet.digest for packet in packets]))


def test_an_answer_is_found_by_its_packet_as_it_was(tmp_path):
    store = Store(tmp_path)
    first, second = verdict(PACKETS[0]), verdict(PACKETS[1], repeat=1)

    assert verdicts.keep(store, JUDGE, [first, second]) == 2

    assert asked(store, PACKETS[0]) == [first]
    assert asked(store, PACKETS[1], PACKETS[2]) == [second]
    assert asked(store) == []


def test_a_failure_is_not_kept(tmp_path):
    store = Store(tmp_path)

    assert verdicts.keep(store, JUDGE, [failed(PACKETS[0])]) == 0

    assert asked(store, PACKETS[0]) == []


def test_keeping_the_same_again_keeps_it_once(tmp_path):
    store = Store(tmp_path)

    for _ in range(2):
        verdicts.keep(store, JUDGE, [verdict(PACKETS[0])])

    assert len(list(tmp_path.glob("judge_verdicts_kept/judge=one/*/*"))) == 1


def test_another_identity_finds_nothing(tmp_path):
    store = Store(tmp_path)
    verdicts.keep(store, JUDGE, [verdict(PACKETS[0])])

    other = Judge(name="one", client="callable", model="another")

    assert list(verdicts.kept(store, other, [PACKETS[0].digest])) == []


def test_many_segments_are_made_into_one_that_holds_every_answer(tmp_path):
    store = Store(tmp_path)

    for packet in PACKETS[: verdicts.MOST_SEGMENTS + 1]:
        verdicts.keep(store, JUDGE, [verdict(packet)])

    files = list(tmp_path.glob("judge_verdicts_kept/judge=one/*/*/part-0.parquet"))
    assert len(files) == 1
    assert len(asked(store, *PACKETS)) == verdicts.MOST_SEGMENTS + 1
