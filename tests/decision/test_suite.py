"""The suite: what its keys may say, and how a configuration changes it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from spancheck_pipeline.decision.cron import NICKNAMES, check_cron
from spancheck_pipeline.decision.names import check_name, check_owner
from spancheck_pipeline.decision.suite import CasesFile, Suite, apply_changes
from spancheck_pipeline.decision.suite_target import Target


def suite(**keys: Any) -> Suite:
    base = {"contract": 1, "name": "leases", "target": {"callable": "t.py:a"}, "graders": {"no_pii": None}}
    return Suite.model_validate(base | keys)


def test_a_short_suite_has_sensible_defaults() -> None:
    short = suite()
    assert short.graders == {"no_pii": {}}
    assert short.cases.file == "cases.jsonl"
    assert (short.epochs, short.target.concurrency, short.target.kind) == (1, 8, "callable")
    assert short.gate.min_measured is None


@pytest.mark.parametrize("name", ["a", "leases", "a1_b", "a" * 63])
def test_a_name_is_lower_case(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "A", "1a", "_a", "a-b", "a b", "../x", "a/b", "a" * 64, "ä", "a\n"])
def test_what_is_no_folder_name_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        check_name(name)


@pytest.mark.parametrize(
    "target",
    [
        {},
        {"callable": "a:b", "http": {"url": "https://x.example"}},
        {"command": []},
        {"command": "python x.py"},
        {"callable": "a:b", "version": "1", "version_from": "a:v"},
        {"recorded": "../answers.jsonl"},
        {"callable": "a:b", "concurrency": 0},
    ],
)
def test_a_target_that_cannot_be_meant_is_refused(target: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Target.model_validate(target)


def test_a_configuration_is_merged_key_by_key_and_lists_are_replaced() -> None:
    changed = suite(
        target={"command": ["a", "b"], "retries": 3},
        graders={"latency": {"max_ms": 5}, "no_pii": {}},
        configs={"other": {"target": {"command": ["c"]}, "graders": {"latency": {"max_ms": 9}}}},
    ).with_config("other")
    assert (changed.target.command, changed.target.retries) == (("c",), 3)
    assert changed.graders == {"latency": {"max_ms": 9}, "no_pii": {}}
    assert changed.configs == {}


@pytest.mark.parametrize("key", ["contract", "name", "owners", "schedule", "configs"])
def test_a_configuration_cannot_make_another_suite_of_it(key: str) -> None:
    with pytest.raises(ValueError, match=f"a config cannot change {key}"):
        apply_changes({"name": "leases"}, {key: 1})


def test_a_configuration_with_its_own_version_replaces_where_it_came_from() -> None:
    changed = apply_changes({"target": {"callable": "a:b", "version_from": "a:v"}}, {"target": {"version": "2"}})
    assert changed["target"] == {"callable": "a:b", "version": "2"}


@pytest.mark.parametrize("owner", ["team:evaluation", "a.b+c@mail.example", "team:x-1_y.z"])
def test_an_owner_is_an_address_or_a_team(owner: str) -> None:
    assert check_owner(owner) == owner


@pytest.mark.parametrize("owner", ["", "bob", "team:", "team:a b", "a@b", "a@@mail.example"])
def test_what_is_neither_is_refused(owner: str) -> None:
    with pytest.raises(ValueError, match="an owner is an e-mail address or team:name"):
        check_owner(owner)


@pytest.mark.parametrize("path", ["cases.jsonl", "sub/cases.csv", "/data/cases.parquet", "a..b.jsonl"])
def test_a_cases_file_is_inside_the_folder_or_absolute(path: str) -> None:
    assert CasesFile.model_validate(path).file == path


@pytest.mark.parametrize("path", ["../x.jsonl", "a/../../x.jsonl", "a\\..\\x.jsonl", "", " ", "a\0.jsonl"])
def test_a_cases_file_cannot_climb_out(path: str) -> None:
    with pytest.raises(ValidationError):
        CasesFile.model_validate(path)


@pytest.mark.parametrize(
    "cron",
    [
        "0 2 * * *", "*/15 0-6 1,15 jan-mar MON-fri", "59 23 31 12 7", "0 0 29 2 *", "0 0 31 2 1", "5/10 * * * *",
        "  0  2 * * * ", *NICKNAMES,
    ],
)  # fmt: skip
def test_a_cron_schedule_that_ticks_is_accepted(cron: str) -> None:
    assert check_cron(cron) == cron


@pytest.mark.parametrize(
    ("cron", "why"),
    [
        ("", "5 fields"),
        ("0 2 * *", "5 fields .*, this one has 4"),
        ("0 0 2 * * *", "this one has 6"),
        ("60 2 * * *", "'60' is not a minute"),
        ("0 24 * * *", "'24' is not an hour"),
        ("0 0 0 * *", "'0' is not a day of month"),
        ("0 0 * 13 *", "'13' is not a month"),
        ("0 0 * * 8", "'8' is not a day of week"),
        ("0 0 * * fry", "'fry' is not a day of week"),
        ("*/0 * * * *", "'\\*/0' is not a minute"),
        ("5-1 * * * *", "runs backwards"),
        ("1,,2 * * * *", "'' is not a minute"),
        ("0 0 30 2 *", "never comes"),
        ("0 0 31 4,6,9,11 *", "never comes"),
        ("@nightly", "5 fields"),
        ("٣ 2 * * *", "is not a minute"),
    ],
)
def test_a_cron_schedule_that_cannot_tick_says_which_field(cron: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_cron(cron)
