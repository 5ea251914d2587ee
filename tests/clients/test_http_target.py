"""An HTTP endpoint as a target, against a server on loopback."""

import asyncio
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from spancheck_pipeline.clients.call_errors import CallError, failure_of
from spancheck_pipeline.clients.http_target import checked_url, fill, retry_after_s
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.case import Case

CASE = Case("q1", 'Who "pays"?', history=[{"role": "user", "text": "Hello"}])


@contextmanager
def server(status=200, body=b'{"answer": "The tenant."}', headers=(("content-type", "application/json"),)):
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self):
            size = int(self.headers.get("content-length") or 0)
            requests.append((self.command, self.path, dict(self.headers), self.rfile.read(size)))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}/ask", requests
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def ask(url, case=CASE, **settings):
    target = load_target(Target(http={"url": url, **settings}), suite_folder=None)

    async def once():
        try:
            return await target.call(case, 0)
        finally:
            await target.close()

    return asyncio.run(once())


def error_of(url, **settings):
    with pytest.raises(CallError) as failed:
        ask(url, **settings)
    return failure_of(failed.value)


def test_question_and_history_are_posted_as_json_and_the_answer_is_read():
    with server() as (url, requests):
        assert ask(url).answer == "The tenant."
    method, path, _, body = requests[0]
    assert (method, path) == ("POST", "/ask")
    assert json.loads(body) == {"input": 'Who "pays"?', "history": [{"role": "user", "text": "Hello"}]}


def test_a_template_and_paths_fit_any_service(monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "sesame")
    reply = {"data": {"text": "Me.", "docs": [{"id": 3, "text": "Me."}], "u": {"prompt_tokens": 4}}}
    with server(body=json.dumps(reply).encode()) as (url, requests):
        output = ask(
            url,
            headers={"Authorization": "Bearer ${SERVICE_KEY}"},
            body={"messages": [{"role": "user", "content": "Q: {input}"}], "q": "{input}", "past": "{history}"},
            fields={"answer": "data.text", "contexts": "data.docs", "usage": "data.u", "served_model": "data.model"},
        )
    assert (output.answer, output.contexts[0].source_id, output.usage.input_tokens) == ("Me.", "3", 4)
    assert requests[0][2]["Authorization"] == "Bearer sesame"
    sent = json.loads(requests[0][3])
    assert sent["messages"][0]["content"] == 'Q: Who "pays"?'
    assert sent["past"] == [{"role": "user", "text": "Hello"}]


def test_a_get_sends_the_body_as_query_and_a_text_response_is_the_answer():
    with server(body="Für immer.".encode(), headers=[("content-type", "text/plain")]) as (url, requests):
        assert ask(url, method="GET", body={"q": "{input}", "k": 3}).answer == "Für immer."
    assert requests[0][1] == "/ask?q=Who+%22pays%22%3F&k=3"


def test_a_placeholder_in_a_question_is_not_filled_again():
    assert fill("a {input} {history}", question="{history}", history=[]) == "a {history} []"


@pytest.mark.parametrize(
    ("status", "error_class", "retryable"),
    [
        (301, "HttpStatus301", False),
        (400, "HttpStatus400", False),
        (404, "HttpStatus404", False),
        (408, "HttpStatus408", True),
        (429, "HttpStatus429", True),
        (503, "HttpStatus503", True),
    ],
)
def test_a_status_is_a_failure_and_only_some_are_retried(status, error_class, retryable):
    with server(status=status, headers=[("retry-after", "7"), ("location", "http://127.0.0.1:1/")]) as (url, requests):
        failure = error_of(url)
    assert (failure.error_class, failure.retryable, failure.retry_after_s) == (error_class, retryable, 7.0)
    assert len(requests) == 1


def test_a_secret_that_a_server_echoes_is_not_kept(monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "sesame")
    with server(status=401, body=b"bad key sesame") as (url, _):
        assert error_of(url, headers={"x-key": "${SERVICE_KEY}"}).message == "HTTP status 401: bad key ***"


def test_nobody_listening_is_a_connection_error_that_is_retried():
    failure = error_of("http://127.0.0.1:1/ask")
    assert (failure.error_class, failure.retryable) == ("ConnectError", True)


@pytest.mark.parametrize(
    ("body", "error_class"),
    [
        (b"{not json", "InvalidOutputError"),
        (b"[1, 2]", "InvalidOutputError"),
        (b'{"answer": "a", "latency_ms": NaN}', "InvalidOutputError"),
        (b'"' + b"x" * (17 * 1024 * 1024) + b'"', "OutputTooLargeError"),
        (b"[" * 200_000, "InvalidOutputError"),
    ],
)
def test_a_response_that_is_no_output_is_a_failed_call(body, error_class):
    with server(body=body) as (url, _):
        failure = error_of(url)
    assert (failure.error_class, failure.retryable) == (error_class, False)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "86400"}, 120.0),  # cut to two minutes
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        # 02:00:30 minus the server's own 02:00:00 is 30 s, whatever our clock says
        ({"retry-after": "Mon, 30 Nov 2026 02:00:30 GMT", "date": "Mon, 30 Nov 2026 02:00:00 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 02:00:30 GMT", "date": "Mon, 30 Nov 2026 03:00:00 GMT"}, 0.0),
    ],
)
def test_a_wish_to_wait_is_read_in_seconds_or_as_a_date(headers, expected):
    assert retry_after_s(httpx.Headers(headers)) == expected


def test_missing_variables_are_named_all_at_once(monkeypatch):
    for name in ("KEY_A", "KEY_B"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(TargetError, match="needs KEY_A, KEY_B, which the environment does not have"):
        ask("http://127.0.0.1:1/", headers={"a": "${KEY_A}", "b": "x${KEY_B}"})


def test_a_header_that_http_cannot_carry_is_refused_without_its_value(monkeypatch):
    monkeypatch.setenv("KEY_A", "sesame\n")
    with pytest.raises(TargetError, match="'x-key' holds a line break") as refused:
        ask("http://127.0.0.1:1/", headers={"x-key": "${KEY_A}"})
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("url", ["ftp://host/x", "host/x", "http://", "http://[::1", "http://host:port/"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(TargetError, match="must be a http:// or https:// URL"):
        ask(url)


def test_an_unknown_field_is_refused_with_the_nearest_one():
    with pytest.raises(TargetError, match="no field 'context'; did you mean 'contexts'"):
        ask("http://127.0.0.1:1/", fields={"context": "a"})


def test_what_is_recorded_of_an_address_has_no_secrets():
    assert checked_url("http://u:p@[::1]:80/a?key=1#x") == "http://[::1]:80/a"
