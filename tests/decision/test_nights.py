"""Which days a schedule has, which of them were missed, and when a night is late."""

import datetime as dt

import pytest
from dagster._utils.schedules import schedule_execution_time_iterator
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.decision.cron import CronDays, single_time
from spancheck_pipeline.decision.nights import deadline_cron, longest_pause_days, missed_nights


def test_days_of_the_schedule_without_a_night_are_missed():
    captured = ["2026-11-25", "2026-11-30"]
    # 25 is a Wednesday; Thursday and Friday are missed, the weekend is none of the schedule's.
    assert missed_nights("0 2 * * mon-fri", captured, until="2026-12-01") == ("2026-11-26", "2026-11-27", "2026-12-01")


def test_before_the_first_night_nothing_is_missed():
    assert missed_nights("@daily", [], until="2026-12-01") == ()
    assert missed_nights("@daily", ["2026-12-01"], until="2026-12-01") == ()


numbers = st.integers(1, 28).map(str)
weekdays = st.sampled_from(["*", "0", "7", "mon-fri", "1,3", "sun"])
schedules = st.builds(
    "{} {} {} {} {}".format,
    st.sampled_from(["0", "30", "*/20"]),
    st.sampled_from(["0", "2", "23", "*/6"]),
    st.one_of(st.just("*"), numbers, st.just("1,15")),
    st.sampled_from(["*", "2", "mar-oct"]),
    weekdays,
)


@given(schedules, st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]), st.integers(0, 500))
def test_the_days_are_those_on_which_dagster_ticks(cron, zone, start):
    first = dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=start)
    ticks = set()
    for tick in schedule_execution_time_iterator(first.timestamp(), cron, zone):
        if tick.date() > first.date() + dt.timedelta(days=70):
            break
        ticks.add(tick.date())
    days = CronDays(cron)
    # The first day may have begun before the first tick that is looked at.
    inner = [first.date() + dt.timedelta(days=n) for n in range(2, 69)]
    assert [day for day in inner if day in days] == [day for day in inner if day in ticks]


@pytest.mark.parametrize(
    ("cron", "time", "deadline", "pause"),
    [
        ("30 2 * * *", (2, 30), "30 8 * * *", 1),
        ("@daily", (0, 0), "0 6 * * *", 1),
        ("@weekly", (0, 0), "0 6 * * 0", 7),
        ("0 2 1 * *", (2, 0), "0 8 1 * *", 31),
        ("0 22 * * mon-fri", (22, 0), None, 3),
        ("0 */6 * * *", None, None, 1),
        ("@hourly", None, None, 1),
        ("0 2 29 2 *", (2, 0), "0 8 29 2 *", 1461),
    ],
)
def test_when_a_night_is_late_follows_from_the_schedule(cron, time, deadline, pause):
    assert (single_time(cron), deadline_cron(cron, 6)) == (time, deadline)
    # 2028 is the one leap year within the days that are looked at: one tick, no pause, so the whole span.
    assert longest_pause_days(cron) == (800 if pause == 1461 else pause)
