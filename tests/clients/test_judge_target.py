"""A judge as a target of packets: questions, verdicts, failures, one record a call, and no text where none belongs."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from judge_server import VERDICT, answers, closes, completion, hangs, judge_server, message, talks_nonsense

from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.containment import contained
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.judge_calls import CallRecord
from spancheck_pipeline.clients.judge_target import load_judge_target
from spancheck_pipeline.decision.judges import JudgesFile, judges_of
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.storage.journal import MemoryJournal

PACKET = Packet("entailment", "Notice is 30 days, says PACKETMARK.", ("Notice is 30 days, says PACKETMARK.",))


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-KEYMARK")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-KEYMARK")


def judged(folder, settings, *, packet=PACKET, runs=1, timeout_s=20.0, retries=1):
    """Ask one judge about one packet through the capture; return the rows and the record of every call."""
    file = JudgesFile.model_validate({"contract": 1, "judges": {"j": {"timeout_s": timeout_s, **settings}}})
    calls = []
    target = load_judge_target(judges_of(file)["j"], file.judges["j"], folder=folder, calls=calls.append)
    journal = MemoryJournal()
    run_capture(
        [Case(packet.digest, packet.as_dict())],
        target,
        settings=CaptureSettings(concurrency=1, timeout_s=timeout_s, retries=retries, backoff_s=0.001),
        epochs=runs,
        journal=journal,
    )
    return list(journal.rows(sorted(journal.recorded_keys()))), calls


def openai(url, **settings):
    return {"openai": {"base_url": f"{url}/v1"}, "model": "judge-model", **settings}


def test_a_packet_goes_in_and_a_verdict_comes_out_with_one_record_of_the_call(tmp_path):
    with judge_server(answers(completion())) as (url, seen):
        rows, calls = judged(tmp_path, openai(url))
    output = rows[0].output
    assert output.raw == {"label": "supported", "score": 1.0, "reason": "The evidence names 30 days."}
    assert json.loads(output.answer) == VERDICT
    assert (output.finish_reason, output.served_model) == ("stop", "gpt-5.2-2026-08-01")
    assert output.usage.input_tokens == 300
    system, user = (turn["content"] for turn in seen.bodies[0]["messages"])
    assert PACKET.claim in user
    assert PACKET.claim not in system
    assert calls == [
        CallRecord(
            judge="j",
            client="openai",
            prompt="entailment_v1",
            packet_digest=PACKET.digest,
            repeat=0,
            attempt=1,
            max_tokens=512,
            finish_reason="stop",
            error_class=None,
            latency_ms=calls[0].latency_ms,
            api_ms=None,
            n_sent_bytes=len(system.encode()) + len(user.encode()),
            n_reply_bytes=len(json.dumps(VERDICT)),
            served_model="gpt-5.2-2026-08-01",
            input_tokens=300,
            output_tokens=40,
            cached_input_tokens=256,
            reasoning_tokens=12,
            cost_usd=None,
        )
    ]
    assert calls[0].latency_ms > 0


def test_what_is_recorded_of_a_judge_is_its_name_and_identity():
    file = JudgesFile.model_validate({"contract": 1, "judges": {"j": {"stub": {}}}})
    judge = judges_of(file)["j"]
    facts = load_judge_target(judge, file.judges["j"], folder=Path()).facts
    assert (facts.kind, facts.reference, facts.version) == ("judge", "j", judge.identity)


def test_repeats_are_asked_apart_and_every_delimiter_is_new(tmp_path):
    with judge_server(answers(completion())) as (url, seen):
        rows, calls = judged(tmp_path, openai(url, runs=3), runs=3)
    assert [row.epoch for row in rows] == [call.repeat for call in calls] == [0, 1, 2]
    marks = {re.search(r"mark of this message is (\w+)", body["messages"][1]["content"])[1] for body in seen.bodies}
    assert len(marks) == 3


def test_a_reply_that_used_up_its_tokens_is_asked_for_once_more_with_four_times_as_many(tmp_path):
    cut = completion('{"reason": "The ev', finish_reason="length")
    with judge_server(answers(cut), answers(completion())) as (url, seen):
        rows, calls = judged(tmp_path, openai(url, max_tokens=100))
    assert [body["max_tokens"] for body in seen.bodies] == [100, 400]
    assert rows[0].output.raw["label"] == "supported"
    # both questions were paid for: 300 + 300 tokens read, 40 + 40 written
    assert (rows[0].output.usage.input_tokens, rows[0].output.usage.output_tokens) == (600, 80)
    assert [(call.finish_reason, call.error_class, call.max_tokens) for call in calls] == [
        ("length", "TruncatedVerdictError", 100),
        ("stop", None, 400),
    ]


def test_a_reply_that_uses_up_the_larger_budget_too_is_a_failure_even_if_it_can_be_read(tmp_path):
    with judge_server(answers(message(stop_reason="max_tokens"))) as (url, seen):
        rows, calls = judged(tmp_path, {"anthropic": {"base_url": url}, "model": "m", "max_tokens": 100})
    assert (rows[0].output, rows[0].error_class) == (None, "TruncatedVerdictError")
    # not retried within a pass, and the capture goes over failed rows once more at the end
    assert [body["max_tokens"] for body in seen.bodies] == [100, 400, 100, 400]
    assert [call.attempt for call in calls] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("payload", "error_class", "finish_reason"),
    [
        (completion("", refusal="Not about PACKETMARK."), "RefusedVerdictError", "refusal"),
        (completion("", finish_reason="content_filter"), "RefusedVerdictError", "content_filter"),
        (completion("It is PACKETMARK."), "UnreadableVerdictError.no_json", "stop"),
        (completion('{"verdict": "supported PACKETMARK"}'), "UnreadableVerdictError.no_label", "stop"),
        (completion('{"label": "surely", "reason": "PACKETMARK"}'), "UnreadableVerdictError.unknown_label", "stop"),
        (completion("x" * 2_000_000), "OutputTooLargeError", "error"),
        (completion(tool_calls=[], finish_reason="length"), "TruncatedVerdictError", "length"),
    ],
)
def test_a_reply_without_a_verdict_is_a_failure_and_never_a_score(tmp_path, payload, error_class, finish_reason):
    with judge_server(answers(payload)) as (url, _):
        rows, calls = judged(tmp_path, openai(url))
    assert (rows[0].output, rows[0].error_class) == (None, error_class)
    assert {(call.error_class, call.finish_reason) for call in calls} == {(error_class, finish_reason)}
    assert "MARK" not in rows[0].error_message
    assert re.search(r"\d+ bytes", rows[0].error_message)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{json.dumps(VERDICT)}\n```",
        f"Here it is: {json.dumps(VERDICT)} That is all.",
        f'<think>{{"label": "contradicted"}}</think>{json.dumps(VERDICT)}',
    ],
)  # fmt: skip
def test_a_verdict_in_a_fence_in_prose_or_after_thoughts_is_read(tmp_path, text):
    with judge_server(answers(completion(text))) as (url, _):
        rows, _ = judged(tmp_path, {**openai(url), "openai": {"base_url": url, "structured": False}})
    assert rows[0].output.raw["label"] == "supported"


@pytest.mark.parametrize(
    "failing", [answers({}, status=429, headers={"retry-after": "0"}), answers({}, status=500), closes]
)
def test_a_provider_that_is_busy_or_broken_is_asked_again_and_every_call_is_recorded(tmp_path, failing):
    with judge_server(failing, answers(completion())) as (url, _):
        rows, calls = judged(tmp_path, openai(url))
    assert (rows[0].answered, rows[0].attempts) == (True, 2)
    assert [(call.attempt, call.finish_reason, call.error_class is None) for call in calls] == [
        (1, "error", False),
        (2, "stop", True),
    ]
    assert calls[0].n_reply_bytes is calls[0].input_tokens is calls[0].served_model is None


def test_a_call_that_runs_out_of_time_is_recorded_as_such(tmp_path):
    with judge_server(hangs) as (url, _):
        rows, calls = judged(tmp_path, openai(url), timeout_s=0.2, retries=0)
    assert rows[0].error_class == "TimeoutError"
    assert {(call.finish_reason, call.error_class) for call in calls} == {("timeout", "TimeoutError")}


def test_a_panel_has_no_client_of_its_own(tmp_path):
    settings = {"a": {"stub": {}}, "b": {"stub": {}}, "p": {"panel": ["a", "b"]}}
    file = JudgesFile.model_validate({"contract": 1, "judges": settings})
    with pytest.raises(TargetError, match="judge p: a panel is not asked itself"):
        load_judge_target(judges_of(file)["p"], file.judges["p"], folder=tmp_path)


LEAKY = """
    import json, os, sys

    def raises(system, user):
        print(user)
        raise ValueError(user + os.environ["OPENAI_API_KEY"])

    if __name__ == "__main__":
        mode, packet = sys.argv[1], sys.stdin.read()
        assert "PACKETMARK" in packet and "PACKETMARK" not in str(sys.argv) + str(os.environ)
        assert "KEYMARK" not in str(sys.argv) + str(os.environ)
        print(packet, file=sys.stderr)
        if mode == "reported":
            print(json.dumps({"is_error": True, "result": packet, "subtype": packet}))
        if mode == "garbage":
            print(packet)
        sys.exit(3 if mode == "exit" else 0)
"""


def failing_judges(folder, url):
    """Return judges that fail, each in its own way, while holding the packet and the key in their hands."""
    (folder / "leaky.py").write_text(textwrap.dedent(LEAKY))
    for mode in ("exit", "garbage", "reported"):
        argv = [sys.executable, "{folder}/leaky.py", mode, "{system}"]
        yield {"command": {"argv": argv, "billing": "none", "envelope": "claude" if mode == "reported" else "text"}}
    yield {"callable": "leaky.py:raises"}
    yield {"openai": {"base_url": "http://127.0.0.1:1"}, "model": "m"}
    yield from ({"openai": {"base_url": url}, "model": "m"}, {"anthropic": {"base_url": url}, "model": "m"})


@pytest.mark.parametrize(
    ("level", "containing"),
    # The HTTP library's debug log quotes what servers send; the captures of nights and commands contain it.
    [(logging.INFO, nullcontext), (logging.DEBUG, lambda: contained(None))],
)
def test_no_packet_and_no_key_is_in_logs_errors_or_records(tmp_path, caplog, capfd, level, containing):
    echo = {"error": {"type": "PACKETMARK sk-KEYMARK", "message": "PACKETMARK sk-KEYMARK"}}
    behaviours = [
        answers(echo, status=400),
        answers(b"PACKETMARK sk-KEYMARK"),
        talks_nonsense,
        answers(echo, status=401),
    ]
    told = []
    with judge_server(*behaviours) as (url, _), caplog.at_level(level), containing():
        for settings in failing_judges(tmp_path, url):
            rows, calls = judged(tmp_path, settings, retries=0)
            assert rows[0].error_class is not None
            told += [rows[0].error_class, rows[0].error_message, *map(repr, calls)]
    assert len(told) > 20
    # What a user's own function prints is contained too where the captures are; its standard output is its own here.
    assert "MARK" not in "\n".join([*told, caplog.text, capfd.readouterr().err])


ECHO = "The key is sk-KEYMARK, in JSON sk\\u002dKEYMARK."
"""What a reply may hold: the key as it is, and as JSON may spell it."""


@pytest.mark.parametrize("kind", ["openai", "anthropic", "text", "structured"])
def test_a_key_that_a_reply_repeats_is_masked_before_anything_is_kept(tmp_path, kind):
    said = json.dumps({"label": "supported", "reason": "sk-KEYMARK " + "x" * 1_985 + "sk-KEYMARK"})
    text = f"{ECHO}\n{said}"
    (tmp_path / "echo.py").write_text(
        "import json, os, sys\n"
        f"key, text = os.environ['OPENAI_API_KEY'], {text!r}\n"
        "assert key in text\n"
        "print(text if sys.argv[1] == 'text' else json.dumps({'is_error': False, 'result': text, 'stop_reason': key,\n"
        "      'structured_output': {'label': 'supported', 'reason': key},\n"
        "      'modelUsage': {key: {'outputTokens': 1}}}))\n"
    )
    program = {
        "argv": [sys.executable, "{folder}/echo.py", kind, "{system}"],
        "billing": "api",
        "key_env": "OPENAI_API_KEY",
        "envelope": "claude" if kind == "structured" else "text",
    }
    replies = [
        answers({**completion(text, finish_reason="sk-KEYMARK"), "model": "m-sk-KEYMARK"})
        if kind == "openai"
        else answers({**message({"type": "text", "text": text}, stop_reason="sk-KEYMARK"), "model": "sk-KEYMARK"})
    ]
    with judge_server(*replies) as (url, _):
        settings = {"command": program} if kind in {"text", "structured"} else {kind: {"base_url": url}, "model": "m"}
        rows, calls = judged(tmp_path, settings)

    output = rows[0].output
    assert output.raw["label"] == "supported"
    assert output.raw["reason"].startswith("***")
    assert "The key is ***, in JSON ***." in output.answer
    assert "MARK" not in output.model_dump_json() + repr(calls)


INTERRUPTED = """
    import sys
    from pathlib import Path
    from spancheck_pipeline.capture.attempts import CaptureSettings
    from spancheck_pipeline.capture.engine import run_capture
    from spancheck_pipeline.clients.judge_target import load_judge_target
    from spancheck_pipeline.decision.judges import JudgesFile, judges_of
    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.evidence.packet import Packet
    from spancheck_pipeline.storage.journal import MemoryJournal

    code = "import os,sys,time; open(sys.argv[1],'w').write(str(os.getpid())+chr(10)); time.sleep(60)"
    client = {"argv": [sys.executable, "-c", code, sys.argv[1], "{system}"], "billing": "none", "grace_s": 1}
    file = JudgesFile.model_validate({"contract": 1, "judges": {"j": {"command": client}}})
    packet = Packet("entailment", "a", ("b",))
    target = load_judge_target(judges_of(file)["j"], file.judges["j"], folder=Path())
    case = Case(packet.digest, packet.as_dict())
    run_capture([case], target, settings=CaptureSettings(), epochs=1, journal=MemoryJournal())
"""


def test_an_interrupted_capture_leaves_no_judge_behind(tmp_path):
    pid = tmp_path / "pid"
    capture = subprocess.Popen([sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(pid)], cwd=tmp_path)
    deadline = time.monotonic() + 30
    while not (pid.exists() and pid.read_text().endswith("\n")) and time.monotonic() < deadline:
        time.sleep(0.02)
    capture.send_signal(signal.SIGTERM)
    assert capture.wait(20) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
