"""A Python function as a judge, and the stub that is none."""

import asyncio
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.clients.call_errors import CallError, failure_of
from spancheck_pipeline.clients.judge_callable import CallableJudge, reply_of
from spancheck_pipeline.clients.judge_client import Ask, Reply
from spancheck_pipeline.clients.judge_kinds import load_judge_client
from spancheck_pipeline.clients.judge_stub import StubJudge
from spancheck_pipeline.decision.judges import JudgeSettings
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.evidence.run import Usage
from spancheck_pipeline.grading.judge import parse_reply, prompt_named

ASK = Ask(system="Say whether it holds.", user="<<claim PACKETMARK>>", schema={"type": "object"}, max_tokens=300)


def ask(client, question=ASK, timeout_s=10.0):
    async def once():
        try:
            return await asyncio.wait_for(client.ask(question), timeout_s)
        finally:
            await client.close()

    return asyncio.run(once())


def error_of(fn):
    with pytest.raises(CallError) as failed:
        ask(CallableJudge(fn, named="judges:mine"))
    return failure_of(failed.value)


def test_a_function_beside_the_judges_file_gets_the_two_turns_and_its_text_is_the_reply(tmp_path):
    (tmp_path / "mine.py").write_text("def judge(system, user):\n    return f'{system} / {user}'\n")
    client = load_judge_client(JudgeSettings(callable="mine.py:judge"), folder=tmp_path)
    assert ask(client) == Reply(text="Say whether it holds. / <<claim PACKETMARK>>")


def test_a_dict_with_a_label_is_the_verdict_itself():
    def judge(system, user):
        return {
            "label": "supported", "reason": "It says so.", "score": 0.9, "notes": "left out", "model": "mine-2",
            "usage": {"prompt_tokens": 5, "completion_tokens": 2}, "finish_reason": "stop",
        }  # fmt: skip

    verdict = {"label": "supported", "score": 0.9, "reason": "It says so."}
    assert ask(CallableJudge(judge, named="mine")) == Reply(
        text=json.dumps(verdict),
        structured=verdict,
        finish_reason="stop",
        usage=Usage(input_tokens=5, output_tokens=2),
        served_model="mine-2",
    )


def test_a_function_gets_the_schema_and_the_budget_where_it_names_them():
    def judge(system, user, *, max_tokens, schema, retries=2):
        return f"{max_tokens} {schema} {retries}"

    assert ask(CallableJudge(judge, named="mine")).text == "300 {'type': 'object'} 2"


def test_async_functions_objects_and_functions_that_hand_out_a_coroutine_are_awaited():
    async def judge(system, user):
        await asyncio.sleep(0)
        return {"text": user}

    class Judge:
        async def __call__(self, system, user):
            return await judge(system, user)

    for one in (judge, Judge(), lambda system, user: judge(system, user)):  # noqa: PLW0108 - that it is no coroutine function is the point
        assert ask(CallableJudge(one, named="mine")).text == ASK.user


def test_a_function_that_hangs_can_be_left_and_is_counted():
    release = threading.Event()
    client = CallableJudge(lambda system, user: release.wait(20), named="mine")
    with pytest.raises(TimeoutError):
        ask(client, timeout_s=0.1)
    assert client.abandoned == 1
    release.set()


@pytest.mark.parametrize(
    ("raised", "retryable"), [(ValueError("no verdict on PACKETMARK"), True), (SystemExit("PACKETMARK"), False)]
)
def test_a_function_that_raises_is_told_by_class_and_length(raised, retryable):
    def judge(system, user):
        raise raised

    failure = error_of(judge)
    assert (failure.error_class, failure.retryable) == (type(raised).__name__, retryable)
    assert failure.message == f"the judge raised an error with {len(str(raised))} bytes of text"


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        ["supported"],
        {"score": 1.0},
        {"text": 7},
        {"label": object()},
        {"text": "a", "usage": {"input_tokens": -1}},
    ],
)
def test_what_is_no_reply_is_a_failed_call(value):
    failure = error_of(lambda system, user: value)
    assert (failure.error_class, failure.retryable) == ("InvalidReplyError", False)


@pytest.mark.parametrize("fn", [lambda prompt: "", lambda a, b, c: "", lambda: "", lambda a, b, *, key: "", "judge"])
def test_a_function_that_does_not_take_the_two_turns_is_refused(fn):
    with pytest.raises(TargetError, match="mine must be a function of the system turn and the user turn"):
        CallableJudge(fn, named="mine")


VALUES = st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.binary(max_size=3)
KEYS = ["label", "score", "reason", "text", "usage", "model", "finish_reason"]


@given(value=VALUES | st.dictionaries(st.sampled_from(KEYS), VALUES | st.dictionaries(st.text(max_size=3), VALUES)))
def test_whatever_a_function_returns_is_a_reply_or_a_failed_call(value):
    try:
        assert isinstance(reply_of(value), Reply)
    except CallError as error:
        assert type(error).__name__ == "InvalidReplyError"  # noqa: PT017 - one of two ways to end


@pytest.mark.parametrize(
    ("packet", "label"),
    [
        (Packet("entailment", "Notice is 30 days.", ("Notice is 30 days.",)), "supported"),
        (Packet("entailment", "Notice is 30 days.", ("Notice is 45 days.",)), "contradicted"),
        (Packet("groundedness", "Notice is 30 days.", ("Rent is due in May.",)), "not_supported"),
        (Packet("faithful", "Notice is 30 days.", (), "Notice is 30 days."), "holds"),
    ],
)
def test_the_stub_says_what_the_word_checks_say_and_calls_itself_a_stub(packet, label):
    reply = ask(StubJudge(), Ask(system="", user="", schema={}, max_tokens=1, packet=packet))
    assert (reply.served_model, reply.usage.cost_usd) == ("stub", 0.0)
    said = parse_reply(prompt_named(f"{packet.kind}_v1"), reply.text, packet=packet)
    assert said.label == label
    assert "not a judge" in said.reason
    assert reply == ask(StubJudge(), Ask(system="x", user="y", schema={}, max_tokens=9, packet=packet))
