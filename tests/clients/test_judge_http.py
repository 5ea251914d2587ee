"""The two HTTP judges against a server that speaks their wire formats and misbehaves."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_server import (
    VERDICT,
    answers,
    closes,
    completion,
    hangs,
    judge_server,
    message,
    stops_half_way,
    talks_nonsense,
)
from pydantic import ValidationError

from spancheck_pipeline.clients import call_errors, judge_anthropic, judge_openai
from spancheck_pipeline.clients.call_errors import CallError, failure_of
from spancheck_pipeline.clients.judge_client import Ask, Reply
from spancheck_pipeline.clients.judge_kinds import load_judge_client
from spancheck_pipeline.decision.judges import JudgeSettings
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.run import Usage

SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
ASK = Ask(system="Say whether it holds.", user="<<claim PACKETMARK>>", schema=SCHEMA, max_tokens=300)
KINDS = ("openai", "anthropic")


def Failure(error_class, message, *, retryable=False, retry_after_s=None):  # noqa: N802 - stands for the class
    return call_errors.Failure(
        error_class=error_class, message=message, retryable=retryable, retry_after_s=retry_after_s
    )


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-KEYMARK")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-KEYMARK")


def settings(kind, base_url, *, temperature=None, **client):
    return JudgeSettings.model_validate(
        {kind: {"base_url": base_url, **client}, "model": "judge-model", "temperature": temperature}
    )


def ask(given_settings, timeout_s=10.0):
    client = load_judge_client(given_settings, folder=None)

    async def once():
        try:
            return await asyncio.wait_for(client.ask(ASK), timeout_s)
        finally:
            await client.close()

    return asyncio.run(once())


def error_of(kind, behaviour):
    with judge_server(behaviour) as (url, _), pytest.raises(CallError) as failed:
        ask(settings(kind, url))
    return failure_of(failed.value)


def test_a_chat_completion_is_asked_for_with_a_system_turn_and_a_schema_and_read():
    with judge_server(answers(completion())) as (url, seen):
        reply = ask(settings("openai", f"{url}/v1/", temperature=0.0))
    assert json.loads(reply.text) == VERDICT
    assert (reply.finish_reason, reply.served_model) == ("stop", "gpt-5.2-2026-08-01")
    assert reply.usage == Usage(input_tokens=300, output_tokens=40, cached_input_tokens=256, reasoning_tokens=12)
    assert seen.paths == ["/v1/chat/completions"]
    assert seen.headers[0]["authorization"] == "Bearer sk-KEYMARK"
    assert seen.bodies == [
        {
            "model": "judge-model",
            "temperature": 0.0,
            "messages": [
                {"role": "system", "content": "Say whether it holds."},
                {"role": "user", "content": "<<claim PACKETMARK>>"},
            ],
            "max_tokens": 300,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA},
            },
        }
    ]


def test_a_message_is_asked_for_with_a_system_turn_and_a_schema_and_read():
    thinking = {"type": "thinking", "thinking": '{"label": "contradicted"}', "signature": "x"}
    with judge_server(answers(message(thinking, {"type": "text", "text": json.dumps(VERDICT)}))) as (url, seen):
        reply = ask(settings("anthropic", url))
    assert json.loads(reply.text) == VERDICT
    assert (reply.finish_reason, reply.served_model) == ("end_turn", "claude-sonnet-5-20260401")
    # 44 tokens that no cache had + 256 that it read
    assert reply.usage == Usage(input_tokens=300, output_tokens=40, cached_input_tokens=256)
    assert seen.paths == ["/v1/messages"]
    assert seen.headers[0]["x-api-key"] == "sk-KEYMARK"
    assert seen.headers[0]["anthropic-version"] == "2023-06-01"
    assert seen.bodies == [
        {
            "model": "judge-model",
            "max_tokens": 300,
            "system": "Say whether it holds.",
            "messages": [{"role": "user", "content": "<<claim PACKETMARK>>"}],
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        }
    ]


def test_a_server_without_keys_and_schemas_is_asked_plainly():
    # Ollama's reply: no details of usage
    plain = {**completion("```json\n{}\n```"), "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    with judge_server(answers(plain)) as (url, seen):
        reply = ask(settings("openai", url, key_env=None, structured=False))
    assert reply.text == "```json\n{}\n```"
    assert reply.usage == Usage(input_tokens=3, output_tokens=4)
    assert "authorization" not in seen.headers[0]
    assert set(seen.bodies[0]) == {"model", "messages", "max_tokens"}


def test_openais_own_server_gets_the_newer_name_of_the_limit():
    at_home = load_judge_client(settings("openai", "https://api.openai.com/v1"), folder=None)
    elsewhere = load_judge_client(settings("openai", "https://api.openai.com.example.org/v1"), folder=None)
    assert (at_home._limit, elsewhere._limit) == ("max_completion_tokens", "max_tokens")


@pytest.mark.parametrize(
    ("payload", "finish_reason", "text"),
    [
        (completion(None, refusal="I will not."), "refusal", "I will not."),
        (completion("", finish_reason="content_filter"), "content_filter", ""),
        (completion('{"reas', finish_reason="length"), "length", '{"reas'),
        (completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "stop", "ab"),
        (completion(7), "stop", ""),
        (completion("a", finish_reason="because PACKETMARK said so"), "unreported", "a"),
    ],
)
def test_how_a_completion_ended_is_the_providers_word(payload, finish_reason, text):
    reply = judge_openai.reply_of(payload)
    assert (reply.finish_reason, reply.text) == (finish_reason, text)


@pytest.mark.parametrize("stop_reason", ["max_tokens", "refusal", "model_context_window_exceeded"])
def test_how_a_message_ended_is_the_providers_word(stop_reason):
    assert judge_anthropic.reply_of(message(stop_reason=stop_reason)).finish_reason == stop_reason


RATE_LIMITED = {"error": {"type": "rate_limit_error", "message": "PACKETMARK"}}
UNKNOWN_CODES = {"error": {"code": "PACKETMARK", "type": ["x"]}}
WITHIN = {"error": {"code": 429, "message": "PACKETMARK"}}
AWAY = {"location": "http://127.0.0.1:1/"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (
            answers(RATE_LIMITED, status=429, headers={"retry-after": "7"}),
            Failure("HttpStatus429", "HTTP status 429: rate_limit_error, 64 bytes", retryable=True, retry_after_s=7.0),
        ),
        (
            answers({"error": {"type": "overloaded_error"}}, status=529),
            Failure("HttpStatus529", "HTTP status 529: overloaded_error, 39 bytes", retryable=True),
        ),
        (answers(b"sk-KEYMARK", status=500), Failure("HttpStatus500", "HTTP status 500: 10 bytes", retryable=True)),
        (answers(UNKNOWN_CODES, status=400), Failure("HttpStatus400", "HTTP status 400: 48 bytes")),
        (answers(b"", status=307, headers=AWAY), Failure("HttpStatus307", "HTTP status 307: 0 bytes")),
        # some gateways answer 200 and say what went wrong within
        (answers(WITHIN), Failure("HttpStatus429", "HTTP status 429: 49 bytes", retryable=True)),
        (answers({"error": "sk-KEYMARK"}), Failure("HttpStatus502", "HTTP status 502: 23 bytes", retryable=True)),
        (closes, Failure("RemoteProtocolError", "no whole reply came", retryable=True)),
        (stops_half_way, Failure("RemoteProtocolError", "no whole reply came", retryable=True)),
        (talks_nonsense, Failure("RemoteProtocolError", "no whole reply came", retryable=True)),
        (
            answers(b'{"choices": [PACKETMARK'),
            Failure("InvalidReplyError", "the reply of 23 bytes is not a JSON object"),
        ),
        (answers(b"[" * 100_000), Failure("InvalidReplyError", "the reply of 100000 bytes is not a JSON object")),
        (
            answers(b"x" * (17 * 1024 * 1024)),
            Failure("OutputTooLargeError", "the output is larger than 16777216 bytes of JSON"),
        ),
    ],
)
def test_a_provider_that_fails_is_told_by_codes_and_counts(kind, behaviour, expected):
    failure = error_of(kind, behaviour)
    assert failure == expected


@pytest.mark.parametrize(("kind", "what"), [("openai", "a chat completion"), ("anthropic", "a message")])
def test_json_of_another_shape_is_no_reply(kind, what):
    failure = error_of(kind, answers({"hello": "PACKETMARK"}))
    assert failure == Failure("InvalidReplyError", f"the reply of 23 bytes is not {what}")


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_listening_is_a_failure_worth_another_attempt(kind):
    with pytest.raises(CallError) as failed:
        ask(settings(kind, "http://127.0.0.1:1"))
    assert failure_of(failed.value) == Failure("ConnectError", "no whole reply came", retryable=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_provider_that_hangs_can_be_left(kind):
    with judge_server(hangs) as (url, seen), pytest.raises(TimeoutError):
        ask(settings(kind, url), timeout_s=0.3)
    assert len(seen.paths) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_key_is_named_and_one_that_no_header_can_carry_is_not_told(kind, monkeypatch):
    name = f"{kind.upper()}_API_KEY"
    monkeypatch.delenv(name)
    with pytest.raises(TargetError, match=f"{name} is not in the environment.*\\.env"):
        ask(settings(kind, "http://127.0.0.1:1"))
    monkeypatch.setenv(name, "KEY\nMARK")
    with pytest.raises(TargetError, match=f"{name} holds a character") as refused:
        ask(settings(kind, "http://127.0.0.1:1"))
    assert "MARK" not in str(refused.value)


@pytest.mark.parametrize(
    ("base_url", "what"),
    [
        ("ftp://host", "must be a http:// or https:// URL"),
        ("localhost:11434/v1", "must be a http:// or https:// URL"),
        ("https://me:KEYMARK@host/v1", "no user and no password"),
    ],
)
def test_an_address_that_is_none_or_holds_a_password_is_refused(base_url, what):
    with pytest.raises(ValidationError, match=what) as refused:
        settings("openai", base_url)
    assert "KEYMARK" not in str(refused.value)


def test_the_query_of_an_address_stays():
    client = load_judge_client(settings("openai", "https://host/openai/v1/?api-version=1"), folder=None)
    assert client._endpoint.url == "https://host/openai/v1/chat/completions?api-version=1"


NAMES = ["content", "refusal", "text", "type", "cached_tokens", "prompt_tokens_details", "input_tokens"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
CHOICES = JSON | st.lists(st.fixed_dictionaries({"message": JSON, "finish_reason": JSON}), max_size=2)
PAYLOADS = st.fixed_dictionaries({"choices": CHOICES, "content": JSON, "usage": JSON, "model": JSON})


@given(payload=PAYLOADS)
def test_whatever_a_server_sends_is_a_reply_or_a_failed_call(payload):
    for read in (judge_openai.reply_of, judge_anthropic.reply_of):
        try:
            assert isinstance(read(payload), Reply)
        except CallError:
            continue
