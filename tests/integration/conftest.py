"""S3 on loopback, and projects whose storage is a bucket there."""

import subprocess
import sys
import uuid

import pytest
from machines import HERE, kill_tree, start


@pytest.fixture(scope="session")
def s3():
    """Serve S3 on loopback; return the environment that leads there."""
    pytest.importorskip("s3fs", reason="the extra spancheck-pipeline[s3] is not installed")
    pytest.importorskip("moto", reason="the extra spancheck-pipeline[integration] is not installed")
    server = subprocess.Popen(
        [sys.executable, str(HERE / "s3_server.py"), "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        port = server.stdout.readline().split()[1]
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        server.kill()
        server.wait()
        server.stdin.close()
        server.stdout.close()


@pytest.fixture
def bucket(s3, monkeypatch):
    """Return a new bucket's URL, with the environment of this process leading to it."""
    import fsspec

    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{uuid.uuid4().hex[:12]}"
    fsspec.filesystem("s3", use_listings_cache=False).mkdir(name)
    return f"s3://{name}/store"


@pytest.fixture
def calls_log(tmp_path, monkeypatch):
    """Return the file that the target notes each call in: it is no part of any worker's disk."""
    path = tmp_path / "calls.log"
    path.touch()
    monkeypatch.setenv("CALLS_LOG", str(path))
    return path


@pytest.fixture
def command():
    """Return ``start``; whatever it began is ended with the test."""
    begun = []

    def started(*arguments, **more):
        begun.append(start(*arguments, **more))
        return begun[-1]

    yield started
    for process in begun:
        kill_tree(process)
