"""Serves S3 on loopback from memory; one request at a time is worked on, so that a conditional put is one step.

A request is read whole before that: a client that was suspended half-way through one holds up nobody.

Run as ``python s3_server.py <port>``; it says ``ready <port>`` when it answers, and ends with its standard input.
"""

import io
import logging
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


class OneAtATime:
    """The application behind a lock."""

    def __init__(self, app):
        self._app = app
        self._lock = threading.Lock()

    def __call__(self, environ, start_response):
        length = environ.get("CONTENT_LENGTH")
        is_read = length or environ.get("wsgi.input_terminated")
        body = environ["wsgi.input"].read(*([int(length)] if length else [])) if is_read else b""
        environ["wsgi.input"] = io.BytesIO(body)
        with self._lock:
            return list(self._app(environ, start_response))


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", int(sys.argv[1]), app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"ready {server.port}", flush=True)
    sys.stdin.read()
