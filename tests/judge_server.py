"""A provider on loopback that speaks what real ones speak, and misbehaves on demand: one behaviour a request."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[[BaseHTTPRequestHandler], None]

VERDICT = {"reason": "The evidence names 30 days.", "label": "supported"}


class Requests:
    """What a server was sent."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[dict[str, Any]] = []


@contextmanager
def judge_server(*behaviours: Behaviour) -> Iterator[tuple[str, Requests]]:
    """Serve one behaviour a request, the last one for all further ones; yield the address and what is asked."""
    seen, left = Requests(), list(behaviours)
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            seen.paths.append(self.path)
            seen.headers.append({key.lower(): value for key, value in self.headers.items()})
            seen.bodies.append(json.loads(self.rfile.read(size)))
            behave = left.pop(0) if len(left) > 1 else left[0]
            self.stopped = stopped
            behave(self)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()


def answers(value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Behaviour:
    """Answer with JSON (or with bytes as they are)."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()

    def behave(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, item in {"content-type": "application/json", **(headers or {})}.items():
            handler.send_header(name, item)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return behave


def hangs(handler: BaseHTTPRequestHandler) -> None:
    """Say nothing for as long as the server stands."""
    handler.stopped.wait(30)  # type: ignore[attr-defined]  # set for every request
    handler.close_connection = True


def stops_half_way(handler: BaseHTTPRequestHandler) -> None:
    """Promise more bytes than are sent, then close."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"mess')
    handler.wfile.flush()
    handler.close_connection = True


def closes(handler: BaseHTTPRequestHandler) -> None:
    """Close the socket without a word."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def talks_nonsense(handler: BaseHTTPRequestHandler) -> None:
    """Answer with what is no HTTP, and holds what was sent."""
    handler.wfile.write(b"PACKETMARK is no status line\r\n\r\n")
    handler.close_connection = True


def completion(content: Any = None, *, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    """Return a chat completion as the protocol has it."""
    text = json.dumps(VERDICT) if content is None else content
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": "gpt-5.2-2026-08-01",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None, **message},
                "finish_reason": finish_reason,
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": 300,
            "completion_tokens": 40,
            "total_tokens": 340,
            "prompt_tokens_details": {"cached_tokens": 256, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 12},
        },
    }


def message(*blocks: dict[str, Any], stop_reason: str = "end_turn") -> dict[str, Any]:
    """Return a message as the Messages API has it."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-20260401",
        "content": list(blocks) or [{"type": "text", "text": json.dumps(VERDICT)}],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 44,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 256,
            "output_tokens": 40,
        },
    }
