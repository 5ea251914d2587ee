"""Loading a target and calling it once: the four kinds, and what goes wrong with each."""

import asyncio
import json
import math
import sys
import threading
import time
from pathlib import Path

import pytest

from spancheck_pipeline.clients.call_errors import CallError, failure_of
from spancheck_pipeline.clients.target import load_callable, load_target
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.errors import ConfigError, TargetError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import Citation, Output

CASE = Case("q1", "What is the notice period?", history=[{"role": "user", "text": "Hello"}])


def ask(target, case=CASE, *, timeout_s=10.0):
    async def once():
        try:
            return await asyncio.wait_for(target.call(case, 0), timeout_s)
        finally:
            await target.close()

    return asyncio.run(once())


def error_of(target, case=CASE):
    with pytest.raises(CallError) as failed:
        ask(target, case)
    return failure_of(failed.value)


def load(folder, **settings):
    return load_target(Target(**settings), suite_folder=folder)


def script(folder, text, name="system.py"):
    (folder / name).write_text(text)
    return f"{name}:answer"


def test_a_function_in_the_suites_folder_is_called_with_the_question(tmp_path):
    reference = script(tmp_path, "def answer(question):\n    return 'You asked: ' + question\n")
    target = load(tmp_path, callable=reference, version="7")
    assert ask(target).answer == "You asked: What is the notice period?"
    assert (target.facts.kind, target.facts.reference, target.facts.version) == ("callable", "system.py:answer", "7")
    assert len(target.facts.settings_digest) == 64


def test_a_function_of_a_module_in_the_working_folder_is_found_and_the_path_is_left_as_it_was(tmp_path, monkeypatch):
    (tmp_path / "my_system_under_test.py").write_text(
        "class App:\n    def answer(self, q):\n        return q\napp = App()\n"
    )
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert ask(load(tmp_path / "suite", callable="my_system_under_test:app.answer")).answer == CASE.input
    assert sys.path == before


@pytest.mark.parametrize(
    "fn",
    [
        lambda q: f"{q}!",
        lambda q: {"answer": f"{q}!"},
        lambda q: Output(answer=f"{q}!"),
        lambda q, turns: f"{q}!" if turns == [{"role": "user", "text": "Hello"}] else "",
        lambda q, history=(): f"{q}!" if len(history) == 1 else "",
        lambda q, top_k=3: f"{q}!" if top_k == 3 else "",
        lambda *args: f"{args[0]}!" if len(args) == 1 else "",
    ],
)
def test_text_dict_and_output_are_answers_and_two_arguments_get_the_history(fn):
    assert ask(load_callable(fn)).answer == "What is the notice period?!"


def test_async_functions_objects_and_functions_that_hand_out_a_coroutine_are_awaited():
    async def answer(question):
        await asyncio.sleep(0)
        return question

    class System:
        async def __call__(self, question):
            return await answer(question)

    for system in (answer, System(), lambda question: answer(question)):  # noqa: PLW0108 - that it is no coroutine function is the point
        assert ask(load_callable(system)).answer == CASE.input


def test_a_system_that_edits_its_input_does_not_edit_the_case():
    case = Case("q", {"question": "Who?", "filters": ["a"]})
    ask(load_callable(lambda question: question["filters"].append("b") or "fine"), case)
    assert case.input == {"question": "Who?", "filters": ["a"]}


def test_citations_none_drops_them():
    def system(question):
        return {"answer": "yes", "citations": ["yes"]}

    assert ask(load_callable(system)).citations == (Citation(quote="yes"),)
    assert ask(load_callable(system, citations="none")).citations == ()


class Unspeakable(Exception):  # noqa: N818 - a user's class
    def __str__(self):
        raise ValueError("no text")


def deep():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("returned", "error_class"),
    [
        (None, "InvalidOutputError"),
        (3, "InvalidOutputError"),
        (["a"], "InvalidOutputError"),
        ({"text_is_missing": 1}, "InvalidOutputError"),
        ({"answer": 3}, "InvalidOutputError"),
        ({"answer": "a", "latency_ms": math.nan}, "InvalidOutputError"),
        ({"answer": "a", "usage": {"input_tokens": -1}}, "InvalidOutputError"),
        ({"answer": "a", "contexts": deep()}, "InvalidOutputError"),
        ("x" * (50 * 1024 * 1024), "OutputTooLargeError"),
        ({"answer": "", "contexts": ["x" * 9_000_000, "y" * 9_000_000]}, "OutputTooLargeError"),
    ],
)
def test_what_is_no_output_is_a_failed_call_that_is_not_retried(returned, error_class):
    failure = error_of(load_callable(lambda _: returned))
    assert (failure.error_class, failure.retryable) == (error_class, False)


def test_lone_surrogates_and_control_characters_are_storable():
    output = ask(load_callable(lambda _: {"answer": "a\ud800b\x00\x1b[31m", "note": "\udfff"}))
    assert output.answer == "a\ufffdb\x00\x1b[31m"
    assert output.model_dump_json().encode("utf-8")


@pytest.mark.parametrize(
    ("raised", "error_class", "message", "retryable"),
    [
        (RuntimeError("secret text"), "RuntimeError", "secret text", True),
        (TimeoutError("theirs"), "TimeoutError", "theirs", True),
        (Unspeakable(), "Unspeakable", "<the error has no readable text>", True),
        (type("Text in\na class", (Exception,), {})("x"), "UnnamedError", "x", True),
        (StopIteration("x"), "StopIteration", "x", True),
        (SystemExit(3), "SystemExit", "3", False),
        (KeyboardInterrupt(), "KeyboardInterrupt", "", False),
        (asyncio.CancelledError(), "CancelledError", "", False),
        (GeneratorExit(), "GeneratorExit", "", False),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_a_callable_raises_is_a_failed_call(raised, error_class, message, retryable, is_async):
    def system(question):
        raise raised

    async def async_system(question):
        raise raised

    failure = error_of(load_callable(async_system if is_async else system))
    if is_async and error_class == "StopIteration":  # Python itself turns it into this in a coroutine
        error_class, message = "RuntimeError", "coroutine raised StopIteration"
    assert (failure.error_class, failure.message, failure.retryable) == (error_class, message, retryable)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_that_hangs_is_let_go_and_counted(is_async):
    release = threading.Event()

    def hang(question):
        release.wait(20)
        return "late"

    async def block(question):  # it blocks its whole event loop
        release.wait(20)
        return "late"

    target = load_callable(block if is_async else hang)
    try:
        with pytest.raises(TimeoutError):
            ask(target, timeout_s=0.05)
        assert target.abandoned == 1
    finally:
        release.set()
    deadline = time.monotonic() + 10
    while not is_async and target.abandoned and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_async or target.abandoned == 0


def test_a_worker_thread_is_used_again_and_ends_when_the_target_is_closed():
    names = []
    target = load_callable(lambda _: names.append(threading.current_thread()) or "a")

    async def twice():
        await target.call(CASE, 0)
        await target.call(CASE, 1)
        await target.close()

    asyncio.run(twice())
    assert names[0] is names[1]
    assert not names[0].is_alive()


@pytest.mark.parametrize(
    ("text", "reference", "message"),
    [
        ("import not_a_module_at_all\n", None, r"ModuleNotFoundError \(missing module 'not_a_module_at_all'\).*:1"),
        ("\n\nraise ValueError('secret text')\n", None, r"does not import: ValueError at .*system\.py:3"),
        ("def answer(:\n", None, r"SyntaxError at .*system\.py:1"),
        ("import sys\nsys.exit('secret text')\n", None, r"SystemExit at .*system\.py:2"),
        ("def other(q): ...\n", None, "system.py has no attribute 'answer'"),
        ("answer = 3\n", None, "is not callable"),
        ("def answer(a, b, c): ...\n", None, "it takes 3 arguments"),
        ("def answer(): ...\n", None, "it takes 0 arguments"),
        ("", "missing.py:answer", "'missing.py' is not a file in the suite's folder"),
        ("", "../system.py:answer", "leaves the suite's folder"),
        ("", "/etc/system.py:answer", "leaves the suite's folder"),
        ("", "no_such_module_here:answer", r"missing module 'no_such_module_here'\)"),
        ("", "a-b:answer", "is not a module name"),
        ("", "system.py", "is not 'module:attribute'"),
    ],
)
def test_a_callable_that_does_not_load_is_named_without_its_text(tmp_path, text, reference, message):
    suite = tmp_path / "suite"
    suite.mkdir()
    named = script(suite, text)
    with pytest.raises(TargetError, match=message) as refused:
        load(suite, callable=reference or named)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_is_loaded_once_and_again_when_it_has_changed(tmp_path):
    reference = script(tmp_path, "import random\nTOKEN = random.random()\ndef answer(q): return str(TOKEN)\n")
    first = ask(load(tmp_path, callable=reference)).answer
    assert ask(load(tmp_path, callable=reference)).answer == first
    script(tmp_path, "def answer(q): return 'changed'\n")
    assert ask(load(tmp_path, callable=reference)).answer == "changed"


@pytest.mark.parametrize("version", ["VERSION = '3.1'", "def VERSION(): return '3.1'"])
def test_the_version_may_come_from_the_system_itself(tmp_path, version):
    reference = script(tmp_path, f"def answer(q): return q\n{version}\n")
    target = load(tmp_path, callable=reference, version_from="system.py:VERSION")
    assert target.facts.version == "3.1"


@pytest.mark.parametrize("version", ["VERSION = 3", "def VERSION(): raise OSError('secret')", "VERSION = 'a\\nb'"])
def test_a_version_that_is_no_text_of_one_line_is_refused(tmp_path, version):
    script(tmp_path, f"{version}\n")
    with pytest.raises(TargetError, match=r"version_from: system\.py:VERSION") as refused:
        load(tmp_path, callable="system.py:VERSION", version_from="system.py:VERSION")
    assert "secret" not in str(refused.value)


COMMAND = """
import json, os, sys, time, signal
question = json.load(sys.stdin)
mode = sys.argv[1]
if mode == "json": print(json.dumps({"answer": question["input"], "raw": sorted(question)}))
elif mode == "text": print("Plain:", question["history"][0]["text"])
elif mode == "exit": print("secret text", file=sys.stderr); sys.exit(3)
elif mode == "signal": os.kill(os.getpid(), signal.SIGTERM)
elif mode == "large": sys.stdout.write("x" * 20_000_000)
elif mode == "binary": sys.stdout.buffer.write(b"caf\\xe9 ok")
elif mode == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork()
    with open(sys.argv[2], "a") as pids: pids.write(f"{os.getpid()}\\n")
    time.sleep(60)
"""


def command(folder, *arguments):
    (folder / "system.py").write_text(COMMAND)
    return load(folder, command=[sys.executable, "{suite_folder}/system.py", *arguments])


def test_a_program_gets_json_and_answers_with_json_or_text(tmp_path):
    output = ask(command(tmp_path, "json"))
    assert output.answer == CASE.input
    assert output.raw == ["history", "input"]  # not the case's id
    assert ask(command(tmp_path, "text")).answer == "Plain: Hello"
    assert ask(command(tmp_path, "binary")).answer == "caf\ufffd ok"
    assert command(tmp_path, "json").facts.reference == Path(sys.executable).name


@pytest.mark.parametrize(
    ("mode", "error_class", "retryable"),
    [("exit", "CommandExit3", True), ("signal", "CommandSignal15", True), ("large", "OutputTooLargeError", False)],
)
def test_a_program_that_fails_is_counted_by_how_it_ended(tmp_path, mode, error_class, retryable, capfd):
    failure = error_of(command(tmp_path, mode))
    assert (failure.error_class, failure.retryable) == (error_class, retryable)
    assert "secret" not in failure.message


def test_a_program_that_need_not_be_asked_is_not_a_failure(tmp_path):
    target = load(tmp_path, command=[sys.executable, "-c", "print('always this')"])
    assert ask(target, Case("q", "x" * 1_000_000)).answer == "always this"


def test_a_program_that_hangs_is_ended_with_its_children_even_if_it_ignores_the_first_signal(tmp_path, monkeypatch):
    monkeypatch.setattr("spancheck_pipeline.clients.command_target.GRACE_S", 0.1)
    pids = tmp_path / "pids"
    with pytest.raises(TimeoutError):
        ask(command(tmp_path, "hang", str(pids)), timeout_s=0.7)
    for pid in pids.read_text().split():
        stat = Path(f"/proc/{pid}/stat")
        deadline = time.monotonic() + 10
        while stat.exists() and stat.read_text().split()[2] != "Z" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not stat.exists() or stat.read_text().split()[2] == "Z"


def test_a_program_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TargetError, match="the program 'no-such-program' is not found"):
        load(tmp_path, command=["no-such-program", "x"])


def recorded(folder, *rows, raw=None, **columns):
    data = raw if raw is not None else "".join(json.dumps(row) + "\n" for row in rows).encode()
    (folder / "answers.jsonl").write_bytes(data)
    return load(folder, recorded={"file": "answers.jsonl", "columns": columns})


def test_recorded_answers_are_matched_by_case_id_and_other_columns_are_left_out(tmp_path):
    row = {"case_id": "q1", "answer": "Three months.", "contexts": ["Three months' notice."], "human": {"ok": True}}
    target = recorded(tmp_path, {"case_id": "q0", "answer": "No."}, row)
    output = ask(target)
    assert (output.answer, output.contexts[0].text, output.raw) == ("Three months.", "Three months' notice.", None)
    assert ask(target).answer == "Three months."  # also after it was closed
    failure = error_of(target, Case("q2", "?"))
    assert (failure.error_class, failure.retryable) == ("NoRecordedAnswer", False)
    assert target.case_ids == {"q0", "q1"}


def test_columns_map_output_fields_and_the_id(tmp_path):
    rows = [{"qid": 1, "out": {"text": "A", "docs": [{"id": 7, "content": "A is so."}]}, "answer": "not this"}]
    target = recorded(tmp_path, *rows, case_id="qid", answer="out.text", contexts="out.docs")
    output = ask(target, Case("1", "?"))
    assert (output.answer, output.contexts[0].source_id) == ("A", "7")
    with pytest.raises(TargetError, match="an output has no field 'anwser'; did you mean 'answer'"):
        recorded(tmp_path, *rows, case_id="qid", anwser="x")


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    target = recorded(tmp_path, raw=b'\xef\xbb\xbf{"id": "q1", "answer": "A"}\r\n\r\n{"id": "q2", "answer": "B"}\r\n')
    assert [ask(target, Case(name, "?")).answer for name in ("q1", "q2")] == ["A", "B"]


def test_every_line_that_cannot_be_used_is_reported_at_once(tmp_path):
    lines = [
        b'{"id": "a", "answer": "secret"}',
        b'{"id": "a", "answer": "secret"}',
        b'{"answer": "secret"}',
        b'{"id": "b", "answer": "secret"',
        b"[1]",
        b'{"id": "caf\xe9", "answer": "secret"}',
        b'{"id": "c\\u0000", "answer": "secret"}',
        b'{"id": true}',
    ]
    with pytest.raises(ConfigError) as refused:
        recorded(tmp_path, raw=b"\n".join(lines))
    assert [problem.line for problem in refused.value.problems] == [2, 3, 4, 5, 6, 7, 8]
    message = str(refused.value)
    for part in ("stands twice (first in line 1)", "not JSON", "not a JSON object", "not UTF-8", "control characters"):
        assert part in message
    assert "secret" not in message


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_answers_is_refused(tmp_path, raw):
    with pytest.raises(ConfigError, match="holds no answers"):
        recorded(tmp_path, raw=raw)


def test_a_missing_file_of_answers_is_named(tmp_path):
    with pytest.raises(TargetError, match=r"cannot read .*nowhere\.jsonl \(No such file"):
        load(tmp_path, recorded="nowhere.jsonl")
