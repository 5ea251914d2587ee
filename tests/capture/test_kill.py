"""A capture that is killed at any instant keeps every journaled call and repeats none of them."""

import os
import subprocess
import sys
from pathlib import Path


def test_fifty_kills_lose_no_journaled_call_and_repeat_only_those_in_flight(tmp_path):
    driver, root = Path(__file__).with_name("kill_driver.py"), Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(driver), str(tmp_path), "50", "20261130"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    killed, captures, again = (int(word) for word in done.stdout.split() if word.isdigit())
    assert killed >= 50
    assert captures >= 1
    assert again <= 8 * killed
