"""A webhook on loopback: what it gets, what is escaped, and that its URL stands nowhere."""

import json
import logging
import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from spancheck_pipeline.clients.webhook import Sent, escaped, post_text

SECRET = "T000-very-secret"


@contextmanager
def receiver(*statuses: int, location: str = "", late_s: float = 0, headers: list | None = None):
    """Answer with the statuses in order, the last one for good, ``late_s`` late, and keep what arrived."""
    got: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append(json.loads(body))
            if headers is not None:
                headers.append(dict(self.headers))
            time.sleep(late_s)
            self.send_response(statuses[min(len(got), len(statuses)) - 1])
            if location:
                self.send_header("location", location)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/services/{SECRET}", got
    finally:
        server.shutdown()
        server.server_close()


def test_a_text_arrives_as_slack_compatible_json(monkeypatch):
    with receiver(200) as (url, got):
        monkeypatch.setenv("HOOK", url)
        assert post_text("HOOK", "leases: the gate says FAIL") == Sent(is_sent=True)
    assert got == [{"text": "leases: the gate says FAIL"}]


def test_nothing_is_sent_where_the_environment_names_nothing(monkeypatch):
    monkeypatch.delenv("HOOK", raising=False)
    assert post_text("HOOK", "x") == Sent(is_sent=False, why_not="HOOK is not set")


def test_a_receiver_that_fails_for_a_moment_is_asked_again(monkeypatch):
    with receiver(503, 500, 200) as (url, got):
        monkeypatch.setenv("HOOK", url)
        assert post_text("HOOK", "x", wait_s=0).is_sent
    assert len(got) == 3


@pytest.mark.parametrize("kind", ["late", "hangs", "drips"])
def test_a_receiver_that_answers_late_or_never_is_asked_once_and_left(kind, monkeypatch):
    with receiver(200, late_s=1.5) as (url, got), socket.create_server(("127.0.0.1", 0)) as mute:
        # The mute one takes the connection (its queue does) and says nothing, or a header's bytes one by one.
        done = threading.Event()

        def drip():
            connection, _ = mute.accept()
            with connection:
                while not done.wait(0.05):
                    connection.sendall(b"H")

        if kind == "drips":
            threading.Thread(target=drip, daemon=True).start()
        monkeypatch.setenv("HOOK", url if kind == "late" else f"http://127.0.0.1:{mute.getsockname()[1]}/{SECRET}")
        began = time.monotonic()
        sent = post_text("HOOK", "x", timeout_s=0.5)
        took = time.monotonic() - began
        done.set()
    assert sent == Sent(is_sent=False, why_not="the webhook of HOOK does not take it (no answer in time)")
    assert len(got) == (1 if kind == "late" else 0)
    assert took < 5, "a tick has a minute, and the limit is half a second"


def test_all_tries_together_stay_within_the_limit(monkeypatch):
    with receiver(503) as (url, got):
        monkeypatch.setenv("HOOK", url)
        assert "status 503" in post_text("HOOK", "x", wait_s=60, timeout_s=2).why_not
    assert len(got) == 1


def test_a_user_and_password_in_the_url_are_sent_as_a_header(monkeypatch):
    headers: list = []
    with receiver(200, headers=headers) as (url, got):
        monkeypatch.setenv("HOOK", url.replace("http://", "http://me:p%40ss@"))
        assert post_text("HOOK", "x") == Sent(is_sent=True)
    assert headers[0]["Authorization"] == "Basic bWU6cEBzcw=="  # base64 of me:p@ss
    assert len(got) == 1


@pytest.mark.parametrize("kind", ["refused", "status", "redirect", "no url", "half a url"])
def test_what_goes_wrong_is_told_without_the_url_in_message_or_log(kind, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with receiver(404 if kind == "status" else 302, location=f"http://127.0.0.1:1/{SECRET}") as (url, got):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            unused = f"http://127.0.0.1:{free.getsockname()[1]}/{SECRET}"
        urls = {"refused": unused, "no url": SECRET, "half a url": f"http:///{SECRET}"}
        monkeypatch.setenv("HOOK", urls.get(kind, url))
        sent = post_text("HOOK", "x", wait_s=0)
    assert not sent.is_sent
    said = {"refused": "URLError", "status": "status 404", "redirect": "status 302"}.get(kind, "no http:// or https://")
    assert said in sent.why_not
    shown = capfd.readouterr()
    assert SECRET not in sent.why_not + caplog.text + shown.out + shown.err
    assert len(got) == (1 if kind in {"status", "redirect"} else 0)


def test_markup_control_characters_and_long_texts_are_made_harmless():
    assert escaped("<!here> & \x1b[31m\u202eabc\ud800") == "&lt;!here&gt; &amp; [31mabc"
    assert len(escaped("x" * 10_000)) == 3000
