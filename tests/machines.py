"""What the integration tests share: commands in process groups of their own, and a target that answers slowly."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
HERE = ROOT / "tests" / "integration"
SLOW_TARGET = """
    import os
    import time

    VERSION = "1"


    def answer(question):
        with open(os.environ["CALLS_LOG"], "a") as log:
            log.write(question + "\\n")
        time.sleep(float(os.environ.get("CALL_S", "0")))
        while os.path.exists(os.environ.get("HOLD", "")):
            time.sleep(0.05)
        if "president" in question:
            return {"answer": "I don't know; the documents do not say.", "contexts": [PASSAGE]}
        return {
            "answer": PASSAGE,
            "contexts": [{"source_id": "lease", "text": PASSAGE}],
            "citations": [{"quote": "end the lease with 30 days written notice", "source_id": "lease"}],
        }


    PASSAGE = "Either party may end the lease with 30 days written notice."
"""


def start(*arguments, cwd, env=None, **more):
    """Start the command line in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "from spancheck_pipeline.cli.main import main; main()", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


def kill_tree(process):
    """End a process that ``start`` began, with all that it started, and let go of its pipes."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
