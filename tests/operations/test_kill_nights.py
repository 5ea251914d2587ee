"""The short version of ``kill_nights.py``: a night killed while it captures, and one that loses its daemon."""

from operations.kill_nights import run_nights


def test_nights_that_are_killed_lose_nothing_and_double_nothing(tmp_path):
    tally = run_nights(tmp_path / "project", n=2, seed=2, is_capturing=True)

    assert tally.faults == []
    assert (tally.nights, tally.kills, tally.resumed) == (2, {"worker": 1, "daemon": 1}, 1)
