"""A program as a judge: what it is given and what not, how it ends, and the envelope of `claude -p`."""

import asyncio
import json
import os
import re
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from spancheck_pipeline.clients.call_errors import CallError, failure_of
from spancheck_pipeline.clients.judge_client import Ask, Reply
from spancheck_pipeline.clients.judge_command import DROPPED, PASSED, environment_of
from spancheck_pipeline.clients.judge_envelope import claude_reply
from spancheck_pipeline.clients.judge_kinds import load_judge_client
from spancheck_pipeline.decision.judges import JudgeSettings
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.run import Usage
from spancheck_pipeline.storage.judges_file import load_judges

VERDICT = {"reason": "The evidence names 30 days.", "label": "supported"}
ASK = Ask(
    system="Say whether {model} holds.",
    user="<<claim PACKETMARK \ud800>>",
    schema={"type": "object", "title": "{system}"},
    max_tokens=300,
)
FLAGS = ("--system-prompt", "{system}")
CLAUDE_FLAGS = [
    *("--system-prompt", "{system}", "--tools", "", "--strict-mcp-config", "--no-session-persistence"),
    *("--setting-sources", "", "--model", "{model}", "--output-format", "json", "--json-schema", "{schema}"),
]

PROGRAM = """
    import json, os, signal, subprocess, sys, time
    from pathlib import Path

    mode, seen = sys.argv[1], Path(sys.argv[2])
    told = {"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "files": os.listdir(), "pid": os.getpid()}
    told["group"] = os.getpgid(0)
    told["stdin"] = sys.stdin.buffer.read().decode() if mode != "deaf" else None

    def tell():
        seen.with_suffix(".part").write_text(json.dumps(told))
        seen.with_suffix(".part").rename(seen)

    def child(code):
        return subprocess.Popen([sys.executable, "-c", code]).pid

    print("PACKETMARK on stderr", file=sys.stderr)
    if mode == "tidy":
        def tidy(*_):
            seen.with_name("tidied").touch()
            sys.exit(0)
        signal.signal(signal.SIGTERM, tidy)
    if mode in ("stubborn", "stubborn_child"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "stubborn_child":
        told["child"] = child("import time; time.sleep(60)")
    if mode == "leaves_child":
        told["child"] = child("import time; time.sleep(60)")
    tell()
    if mode in ("hang", "tidy", "stubborn", "stubborn_child"):
        time.sleep(60)
    if mode == "exit":
        print(told["stdin"])
        sys.exit(3)
    if mode == "large":
        sys.stdout.write("x" * 3_000_000)
        time.sleep(60)
    if mode == "env":
        print(json.dumps(dict(os.environ)))
        sys.exit(0)
    if mode == "envelope":
        print(sys.argv[3])
        sys.exit(int(sys.argv[4]))
    print(json.dumps({"reason": "The evidence names 30 days.", "label": "supported"}))
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "MY_TOKEN", "AWS_PROFILE", "GOOGLE_CLOUD_PROJECT", "DB_SECRET", "PLAIN"):
        monkeypatch.setenv(name, "KEYMARK")
    (tmp_path / "judge.py").write_text(textwrap.dedent(PROGRAM))
    return tmp_path


def settings(
    mode, *more, billing="none", model=None, temperature=None, flags=("--system-prompt", "{system}"), **client
):
    argv = [sys.executable, "{folder}/judge.py", mode, "{folder}/seen.json", *more, *flags]
    return JudgeSettings.model_validate(
        {"command": {"argv": argv, "billing": billing, "grace_s": 0.2, **client}, "model": model,
         "temperature": temperature}
    )  # fmt: skip


def ask(folder, given_settings, timeout_s=20.0):
    client = load_judge_client(given_settings, folder=folder)

    async def once():
        try:
            return await asyncio.wait_for(client.ask(ASK), timeout_s)
        finally:
            await client.close()

    return asyncio.run(once())


def cancel(folder, given_settings):
    """Ask, wait until the program is up, and cancel the call."""

    async def cancelled():
        client = load_judge_client(given_settings, folder=folder)
        call = asyncio.ensure_future(client.ask(ASK))
        while not (folder / "seen.json").exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await client.close()

    asyncio.run(asyncio.wait_for(cancelled(), 20))


def seen(folder):
    return json.loads((folder / "seen.json").read_text())


def error_of(folder, given_settings):
    with pytest.raises(CallError) as failed:
        ask(folder, given_settings)
    return failure_of(failed.value)


def is_gone(pid):
    """Whether a process ends within ten seconds; one that nobody has waited for yet has ended too."""
    stat = Path(f"/proc/{pid}/stat")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_a_program_gets_the_packet_on_standard_input_alone_and_its_words_are_the_reply(program):
    reply = ask(program, settings("plain"))
    assert json.loads(reply.text) == VERDICT
    assert (reply.finish_reason, reply.usage) == ("unreported", Usage(cost_usd=0.0))
    told = seen(program)
    assert told["stdin"] == "<<claim PACKETMARK ?>>"  # a lone surrogate has no bytes
    # a placeholder within what was filled in is not filled again
    assert told["argv"][-2:] == ["--system-prompt", "Say whether {model} holds."]
    assert "PACKETMARK" not in json.dumps([told["argv"], told["env"]])


def test_a_program_stands_in_an_empty_folder_of_its_own_that_is_gone_afterwards(program):
    ask(program, settings("plain"))
    told = seen(program)
    assert told["files"] == []
    assert not Path(told["cwd"]).exists()
    assert told["group"] == told["pid"] != os.getpgid(0)


def test_a_program_that_prints_its_environment_has_no_secret_to_print(program):
    reply = ask(program, settings("env", billing="subscription"))
    assert "KEYMARK" not in reply.text
    assert set(json.loads(reply.text)) <= {*PASSED, "LC_CTYPE"}  # Python itself may set LC_CTYPE
    assert reply.usage.cost_usd is None  # who pays for the subscription is not told by a call


def test_the_one_key_is_in_the_environment_only_where_calls_are_billed(program):
    ask(program, settings("plain", billing="api", key_env="ANTHROPIC_API_KEY"))
    told = seen(program)
    assert [name for name, value in told["env"].items() if "KEYMARK" in value] == ["ANTHROPIC_API_KEY"]
    assert "KEYMARK" not in json.dumps(told["argv"])


def test_no_variable_with_a_secret_sounding_name_can_pass(monkeypatch):
    every = dict.fromkeys([*PASSED, *(f"MY_{word}_NAME" for word in DROPPED), "EDITOR"], "x")
    assert set(environment_of(every, key_env=None)) == set(PASSED)
    monkeypatch.setattr("spancheck_pipeline.clients.judge_command.PASSED", tuple(every))
    assert set(environment_of(every, key_env=None)) == {*PASSED, "EDITOR"}


@pytest.mark.parametrize(
    ("mode", "error_class", "message"),
    [
        ("exit", "CommandExit3", "the command ended with exit code 3"),
        ("large", "OutputTooLargeError", "the output is larger than 1048576 bytes of JSON"),
    ],
)
def test_a_program_that_fails_is_told_by_codes_and_counts(program, capfd, mode, error_class, message):
    failure = error_of(program, settings(mode))
    assert (failure.error_class, failure.message) == (error_class, message)
    assert is_gone(seen(program)["pid"])
    assert "MARK" not in "".join(capfd.readouterr())  # nor does its standard error come through


def test_a_cancelled_program_may_tidy_up_before_it_is_killed(program):
    cancel(program, settings("tidy", grace_s=10))
    assert (program / "tidied").exists()
    assert is_gone(seen(program)["pid"])


@pytest.mark.parametrize("mode", ["hang", "stubborn", "stubborn_child"])
def test_a_cancelled_call_ends_the_program_and_its_children_also_when_they_ignore_the_first_signal(program, mode):
    cancel(program, settings(mode))
    told = seen(program)
    assert is_gone(told["pid"])
    assert "child" not in told or is_gone(told["child"])


def test_what_a_program_leaves_running_is_ended_and_its_reply_counts(program, monkeypatch):
    monkeypatch.setattr("spancheck_pipeline.clients.judge_command.DRAIN_S", 0.1)
    reply = ask(program, settings("leaves_child"))
    assert json.loads(reply.text) == VERDICT
    assert is_gone(seen(program)["child"])


def test_a_program_that_reads_nothing_can_answer(program):
    client = load_judge_client(settings("deaf"), folder=program)
    long = Ask(system="s", user="x" * 2_000_000, schema={}, max_tokens=1)

    async def once():
        try:
            return await asyncio.wait_for(client.ask(long), 20)
        finally:
            await client.close()

    assert json.loads(asyncio.run(once()).text) == VERDICT


def test_an_argument_that_no_system_takes_is_a_failed_call(program):
    client = load_judge_client(settings("plain"), folder=program)
    with pytest.raises(CallError) as failed:
        asyncio.run(client.ask(Ask(system="s" * 10_000_000, user="PACKETMARK", schema={}, max_tokens=1)))
    assert failure_of(failed.value).message == "no whole reply came"
    asyncio.run(client.close())


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"flags": ["{system}", "notes.txt"]}, "runs in an empty folder, where 'notes.txt' is not"),
        ({"billing": "api", "key_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE is not in the environment"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused_with_the_fix(program, monkeypatch, change, what):
    monkeypatch.chdir(program)
    Path("notes.txt").touch()
    with pytest.raises(TargetError, match=what):
        load_judge_client(settings("plain", **change), folder=program)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"flags": []}, "has no {system}"),
        ({"model": "m"}, "give it its place in argv, as {model}"),
        ({"flags": ["{system}", "--model={model}"]}, "set model for the judge"),
        ({"temperature": 0.0}, "give it its place in argv, as {temperature}"),
        ({"flags": ["{system}", "--model={modle}"]}, r"no placeholder {modle}; did you mean {model}\?"),
        ({"flags": ["{system}", "{packet}"]}, r"no placeholder {packet}; there are {system}, {model}, "),
        ({"billing": "api", "key_env": "sk-KEYMARK"}, "the name of an environment variable"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_with_the_fix(change, what):
    with pytest.raises(ValidationError, match=what) as refused:
        settings("plain", **change)
    assert "KEYMARK" not in str(refused.value)


def test_a_program_that_is_not_there_is_named(tmp_path):
    wanted = JudgeSettings.model_validate({"command": {"argv": ["no-such-judge", "{system}"], "billing": "none"}})
    with pytest.raises(TargetError, match="the program 'no-such-judge' is not found"):
        load_judge_client(wanted, folder=tmp_path)


def envelope(**fields):
    """Return the JSON that `claude -p --output-format json` writes."""
    whole = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 5123,
        "duration_api_ms": 4980,
        "num_turns": 1,
        "result": json.dumps(VERDICT),
        "structured_output": VERDICT,
        "stop_reason": "end_turn",
        "session_id": "00000000-0000-0000-0000-000000000000",
        "total_cost_usd": 0.0123,
        "usage": {
            "input_tokens": 3,
            "cache_creation_input_tokens": 100,
            "cache_read_input_tokens": 200,
            "output_tokens": 40,
        },
        "modelUsage": {
            "claude-haiku-4-5-20251001": {"inputTokens": 9, "outputTokens": 2},
            "claude-sonnet-5-20260401[1m]": {"inputTokens": 3, "outputTokens": 40},
        },
    }
    return json.dumps({name: value for name, value in {**whole, **fields}.items() if value is not ...})


def claude(folder, text, code=0, **client):
    return ask(
        folder, settings("envelope", text, str(code), envelope="claude", model="sonnet", flags=CLAUDE_FLAGS, **client)
    )


def test_the_envelope_of_claude_is_read_whole(program):
    reply = claude(program, envelope(), billing="api", key_env="ANTHROPIC_API_KEY")
    assert reply == Reply(
        text=json.dumps(VERDICT),
        structured=VERDICT,
        finish_reason="end_turn",
        # 3 + 100 + 200 tokens were read in all
        usage=Usage(input_tokens=303, output_tokens=40, cached_input_tokens=200, cost_usd=0.0123),
        served_model="claude-sonnet-5-20260401[1m]",
        api_ms=4980.0,
    )
    told = seen(program)["argv"]
    at = told.index("--system-prompt")
    assert told[at:] == [
        *("--system-prompt", "Say whether {model} holds.", "--tools", "", "--strict-mcp-config"),
        *("--no-session-persistence", "--setting-sources", "", "--model", "sonnet", "--output-format", "json"),
        *("--json-schema", '{"type":"object","title":"{system}"}'),
    ]


def test_a_structured_reply_without_words_is_kept_as_what_came(program):
    assert json.loads(claude(program, envelope(result="")).text) == VERDICT


def test_what_claude_reckons_is_no_bill_on_a_subscription(program):
    assert claude(program, envelope(), billing="subscription").usage.cost_usd is None


@pytest.mark.parametrize(
    ("fields", "code", "error_class", "retryable"),
    [
        ({"is_error": True, "subtype": "error_during_execution", "result": ...}, 1, "JudgeReportedError", True),
        ({"is_error": True, "subtype": "error_max_turns", "result": ...}, 1, "JudgeReportedError", False),
        ({"is_error": True, "subtype": "error_max_budget_usd"}, 1, "JudgeReportedError", False),
        ({"is_error": True, "subtype": "error_max_structured_output_retries"}, 1, "JudgeReportedError", False),
        ({"is_error": True, "subtype": "PACKETMARK"}, 0, "JudgeReportedError", False),
        ({"is_error": True, "api_error_status": 429, "result": "PACKETMARK"}, 1, "HttpStatus429", True),
        ({"is_error": True, "api_error_status": 401}, 1, "HttpStatus401", False),
        ({"is_error": ...}, 0, "JudgeReportedError", True),
        ({"is_error": ..., "result": ...}, 0, "InvalidReplyError", False),
    ],
)
def test_an_envelope_that_says_it_failed_is_a_failed_call(program, fields, code, error_class, retryable):
    with pytest.raises(CallError) as failed:
        claude(program, envelope(**fields), code)
    failure = failure_of(failed.value)
    assert (failure.error_class, failure.retryable) == (error_class, retryable)
    assert "MARK" not in failure.message


@pytest.mark.parametrize("stop_reason", ["max_tokens", "refusal"])
def test_a_reply_that_was_cut_or_refused_is_told_so_error_or_not(program, stop_reason):
    fields = {"is_error": True, "stop_reason": stop_reason, "structured_output": ..., "result": "cut"}
    reply = claude(program, envelope(**fields), 1)
    assert (reply.finish_reason, reply.structured, reply.text) == (stop_reason, None, "cut")


@pytest.mark.parametrize(
    ("text", "code", "error_class"),
    [
        ("PACKETMARK", 0, "InvalidReplyError"),
        ('{"result": ', 0, "InvalidReplyError"),
        ("not logged in", 1, "CommandExit1"),
    ],
)
def test_what_is_no_envelope_is_a_failed_call(program, text, code, error_class):
    with pytest.raises(CallError) as failed:
        claude(program, text, code)
    failure = failure_of(failed.value)
    assert failure.error_class == error_class
    assert "MARK" not in failure.message


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANY = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
)
FIELDS = ["is_error", "result", "structured_output", "stop_reason", "usage", "modelUsage", "total_cost_usd", "subtype"]


@given(fields=st.dictionaries(st.sampled_from(FIELDS), ANY))
def test_whatever_an_envelope_holds_is_a_reply_or_a_failed_call(fields):
    with suppress(CallError):
        assert isinstance(claude_reply(envelope(**fields).encode()), Reply)


CLAUDE = """#!{python}
import json, sys
argv, packet = sys.argv[1:], sys.stdin.read()
flags = dict(zip(argv, argv[1:]))
assert argv[0] == "-p" and "--strict-mcp-config" in argv and "--no-session-persistence" in argv, argv
assert (flags["--tools"], flags["--setting-sources"], flags["--model"]) == ("", "", "sonnet"), flags
assert flags["--output-format"] == "json" and flags["--system-prompt"] and json.loads(flags["--json-schema"]), flags
verdict = {{"reason": packet, "label": "supported"}}
print(json.dumps({{"is_error": False, "result": "", "structured_output": verdict, "stop_reason": "end_turn"}}))
"""


def test_the_documented_judges_can_be_loaded_and_the_program_is_called_as_documented(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
    (tmp_path / "judges.yaml").write_text(re.search(r"```yaml\n(contract: 1\njudges:.*?)```", page, re.DOTALL)[1])
    (tmp_path / "my_judges.py").write_text("def judge(system, user):\n    return ''\n")
    (tmp_path / "claude").write_text(CLAUDE.format(python=sys.executable))
    (tmp_path / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "KEYMARK")
    declared = load_judges(tmp_path).settings
    clients = {name: load_judge_client(one, folder=tmp_path) for name, one in declared.items()}
    assert set(clients) == {"entailment", "careful", "subscription", "mine", "offline"}
    reply = ask(tmp_path, declared["subscription"])
    assert reply.structured == {"reason": "<<claim PACKETMARK ?>>", "label": "supported"}
