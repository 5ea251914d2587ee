"""The short version of ``kill_nights.py``: a night killed while it captures, one without daemon, one without web."""

from operations.kill_nights import run_nights


def test_nights_that_are_killed_lose_nothing_and_double_nothing(tmp_path):
    tally = run_nights(tmp_path / "project", n=3, seed=54, is_capturing=True)

    assert tally.faults == []
    assert (tally.nights, tally.kills, tally.resumed) == (3, {"worker": 1, "daemon": 1, "webserver": 1}, 1)
