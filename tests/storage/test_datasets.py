"""The datasets folder: suites that are read, and suites that are refused with every mistake and its line."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from spancheck_pipeline.decision.suite import CasesFile
from spancheck_pipeline.errors import ConfigError, ContractError, TargetError, UsageError
from spancheck_pipeline.grading.grader import spec_of
from spancheck_pipeline.storage.datasets import list_suites, load_cases, load_suite

GOOD = """\
contract: 1
name: leases
owners: ["team:evaluation", "a.person@mail.example"]
target:
  callable: target.py:answer
  version: 2026-11-03
  concurrency: 4
prices: {m-1: {input_usd_per_mtok: 3, output_usd_per_mtok: 1e1}}
graders:
  no_pii:
  quick: {use: latency, max_ms: 500}
  cost: {max_usd: 0.02}
gate:
  min_pass_rate: {no_pii: 0.95, completion: 1}
schedule: {cron: "0 2 * * *"}
configs:
  slow: {graders: {quick: {max_ms: 5}}, gate: {min_pass_rate: {no_pii: 1.0}}}
  recorded: {target: {recorded: answers.jsonl}}
"""


def suite_at(root: Path, text: str, name: str = "leases") -> Path:
    folder = root / name
    folder.mkdir()
    (folder / "suite.yaml").write_bytes(textwrap.dedent(text).encode())
    return root


def complaints(root: Path, name: str = "leases", **kwargs: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_suite(root, name, **kwargs)
    return str(caught.value).replace(str(root / name) + "/", "").splitlines()


def test_a_good_suite_is_loaded_with_its_graders(tmp_path: Path) -> None:
    loaded = load_suite(suite_at(tmp_path, GOOD), "leases")
    assert loaded.folder == tmp_path / "leases"
    assert loaded.suite.name == "leases"
    assert loaded.suite.target.version == "2026-11-03"
    assert loaded.suite.prices["m-1"].output_usd_per_mtok == 10
    assert {grader.name for grader in loaded.graders} == {"completion", "no_pii", "quick", "cost"}
    (quick,) = [grader for grader in loaded.graders if grader.name == "quick"]
    assert spec_of(quick).settings["max_ms"] == 500


def test_a_configuration_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    loaded = load_suite(suite_at(tmp_path, GOOD), "leases")
    slow = loaded.with_config("slow")
    assert slow.suite.gate.min_pass_rate == {"no_pii": 1.0, "completion": 1}
    (quick,) = [grader for grader in slow.graders if grader.name == "quick"]
    assert spec_of(quick).settings["max_ms"] == 5
    assert slow.suite.target == loaded.suite.target
    assert slow.suite.schedule is None


def test_a_configuration_with_another_kind_of_target_replaces_it(tmp_path: Path) -> None:
    recorded = load_suite(suite_at(tmp_path, GOOD), "leases").with_config("recorded").suite.target
    assert (recorded.kind, recorded.callable, recorded.concurrency) == ("recorded", None, 4)


def test_an_unknown_configuration_names_the_nearest(tmp_path: Path) -> None:
    loaded = load_suite(suite_at(tmp_path, GOOD), "leases")
    with pytest.raises(UsageError, match="no config 'slo'; did you mean 'slow'"):
        loaded.with_config("slo")


def test_suites_are_listed_by_name_and_hidden_folders_are_passed_over(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden", "_draft"):
        suite_at(tmp_path, GOOD, name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "judges.yaml").write_text("contract: 1\n")
    assert list_suites(tmp_path) == ("a", "b")


def test_a_datasets_folder_that_is_not_there_says_how_to_name_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no datasets folder at .*/nowhere; create it, or set SPANCHECK_DATASETS"):
        list_suites(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["../x", "leases/../leases", "/etc", "", ".", "Leases", "a" * 64, "a\0b", "leases\n"])
def test_a_name_that_could_be_a_path_is_refused_before_it_is_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is not a name: a lower-case letter"):
        load_suite(suite_at(tmp_path, GOOD), name)


def test_an_unknown_suite_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no suite 'leasse' in .*; did you mean 'leases'"):
        load_suite(suite_at(tmp_path, GOOD), "leasse")


def test_every_mistake_of_a_suite_is_reported_at_once_with_its_line_and_the_fix(tmp_path: Path) -> None:
    text = """\
        contract: 1
        name: leasses
        descripton: x
        cases: {file: ../x.jsonl, columns: {expcted: gold}}
        target:
          callable: target.py:answer
          concurency: 8
          retries: "2"
          timeout_s: yes
        graders:
          no_pii:
          groundednes: {}
          Bad-Name: {}
          quick:
            use: latency
            max_mss: 5
        gate:
          min_pass_rate: {no_pi: 0.9, no_pii: 1.5}
        schedule: {cron: "0 25 * * *"}
        owners: [bob]
        epochs: 0
        """
    shown = complaints(suite_at(tmp_path, text))
    # The graders' own words are theirs to choose.
    unknown = shown.pop(7)
    assert unknown.startswith("suite.yaml:12: graders.groundednes: ")
    assert "did you mean 'groundedness'" in unknown
    assert shown == [
        "suite.yaml:2: the suite is called 'leasses' and its folder 'leases'; give both the same name",
        "suite.yaml:3: unknown key 'descripton'; did you mean 'description'?",
        "suite.yaml:4: cases.file: a path must not hold '..': it stays in the suite's folder, or is absolute",
        "suite.yaml:4: cases.columns: there is no 'expcted' here; did you mean 'expected'?",
        "suite.yaml:7: unknown key 'concurency' in target; did you mean 'concurrency'?",
        "suite.yaml:8: target.retries: must be a whole number",
        "suite.yaml:9: target.timeout_s: must be a number",
        (
            "suite.yaml:13: graders.Bad-Name: 'Bad-Name' is not a name: a lower-case letter, then lower-case letters, "
            "digits or _, at most 63"
        ),
        "suite.yaml:14: graders.quick.max_ms: this setting is needed and missing",
        "suite.yaml:16: graders.quick.max_mss: there is no such setting; did you mean 'max_ms'?",
        "suite.yaml:18: gate.min_pass_rate.no_pii: must be less than or equal to 1",
        "suite.yaml:18: gate.min_pass_rate: there is no 'no_pi' here; did you mean 'no_pii'?",
        "suite.yaml:19: schedule.cron: '25' is not an hour of a cron schedule (0-23)",
        "suite.yaml:20: owners[0]: an owner is an e-mail address or team:name (letters, digits, _ . -)",
        "suite.yaml:21: epochs: must be greater than or equal to 1",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ["suite.yaml: the key 'contract' is missing; add it", "suite.yaml: the key 'name' is missing; add it"]),
        ("- a\n", ["suite.yaml:1: the file must be a mapping of keys to values"]),
        ("contract: 1\ncontract: 1\n", ["suite.yaml:2: the key 'contract' stands twice (first in line 1); keep one"]),
        ("a: [1, 2\nb: 3\n", ["suite.yaml:1:4: not YAML: a [ that opens here is not closed, or lacks a comma; close"]),
        ("a: {b: [\n", ["suite.yaml:1:8: not YAML: a [ or { that opens here is not closed; close it"]),
        ("a: {b: 1\n", ["suite.yaml:1:4: not YAML: a { that opens here is not closed"]),
        ("a: 'x\nb: 1\n", ["suite.yaml:1:4: not YAML: a quote that opens here is not closed"]),
        ("a: @x\n", ["suite.yaml:1:4: not YAML: a value cannot begin with @; put the value in quotes"]),
        ("a: b: c\n", ["suite.yaml:1:5: not YAML: a colon stands here that cannot"]),
        ("a: *x\n", ["suite.yaml:1:4: not YAML: a value that begins with * is an alias"]),
        ("a: 1\n b: 2\n", ["suite.yaml:2:3: not YAML: a colon stands here that cannot, or the line before"]),
        ("a: {b: 1}}\n", ["suite.yaml:1:10: not YAML: this line does not go on with what stands before it"]),
        ('a: "\\q"\n', ["suite.yaml:1:6: not YAML: a backslash in double quotes"]),
        ("a: |1x\n  y\n", ["suite.yaml:1:6: not YAML: expected chomping or indentation indicators; check"]),
        ("a: 1\n\tb: 2\n", ["suite.yaml:2:1: not YAML: a tab stands here; set the line in with blanks"]),
        (
            "a: !!python/object/apply:os.system [x]\nb: !mine x\n",
            ["suite.yaml:2: a YAML tag stands here; leave the tag"],
        ),
        ("a: .nan\nb: .inf\n", ["suite.yaml:1: a number must be finite", "suite.yaml:2: a number must be finite"]),
        ("a: {<<: {b: 1}}\n", ["suite.yaml:1: a key must be a plain text"]),
        ("a: x\x07\n", ["suite.yaml:1: a control character stands here; delete it"]),
        ("a: 1\n---\nb: 2\n", ["suite.yaml:2:1: not YAML: a second document (---) stands here"]),
        ("a: &x [*x]\n", ["suite.yaml:1: too many or too deeply nested values, aliases counted in; make it smaller"]),
        ("a: " + "[" * 5000, ["suite.yaml"]),
    ],
)
def test_what_is_not_plain_yaml_is_refused(tmp_path: Path, text: str, shown: list[str]) -> None:
    lines = complaints(suite_at(tmp_path, text))
    for line, start in zip(lines, shown, strict=False):
        assert line.startswith(start)
    assert len(lines) >= len(shown)


def test_aliases_that_unfold_to_millions_of_values_are_refused_quickly(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    (line,) = complaints(suite_at(tmp_path, bomb))
    assert "too many or too deeply nested values" in line


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    suite_at(tmp_path, GOOD)
    path = tmp_path / "leases" / "suite.yaml"
    path.write_bytes(b"contract: 1\nname: caf\xe9\n")
    assert complaints(tmp_path) == ["suite.yaml:2: this is not UTF-8; save the file as UTF-8"]
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load_suite(tmp_path, "leases").suite.name == "leases"


def test_a_suite_of_another_contract_is_refused_naming_both_numbers(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"contract 2 is not known here .this version reads contract 1."):
        load_suite(suite_at(tmp_path, GOOD.replace("contract: 1", "contract: 2")), "leases")


def test_a_configuration_is_checked_by_applying_it(tmp_path: Path) -> None:
    text = GOOD + (
        "  broken:\n"
        "    epochs: many\n"
        "    graders:\n"
        "      quick: {max_mss: 5}\n"
        "    gate: {min_pass_rate: {no_pi: 1}}\n"
        "  other: {name: x}\n"
        "  none: 3\n"
    )
    assert complaints(suite_at(tmp_path, text)) == ["suite.yaml:25: configs.none: must be a mapping of keys to values"]
    (tmp_path / "leases" / "suite.yaml").write_text(text.replace("  none: 3\n", ""))
    assert complaints(tmp_path) == [
        "suite.yaml:20: configs.broken: epochs: must be a whole number",
        "suite.yaml:22: configs.broken: graders.quick.max_mss: there is no such setting; did you mean 'max_ms'?",
        "suite.yaml:23: configs.broken: gate.min_pass_rate: there is no 'no_pi' here; did you mean 'no_pii'?",
        "suite.yaml:24: configs.other: a config cannot change name; leave it out",
    ]


def test_a_grader_of_the_users_own_is_imported_by_what_the_caller_brings(tmp_path: Path) -> None:
    text = GOOD.replace("  no_pii:\n", "  no_pii:\n  tone: {use: 'mine.py:tone'}\n")

    def load(reference: str, folder: Path) -> Any:
        assert (reference, folder) == ("mine.py:tone", tmp_path / "leases")
        return lambda _case, _output: True

    loaded = load_suite(suite_at(tmp_path, text), "leases", load)
    assert "tone" in {grader.name for grader in loaded.graders}
    assert complaints(tmp_path) == [
        "suite.yaml:11: graders.tone: 'mine.py:tone' is a grader of your own, which cannot be imported here"
    ]


def test_a_grader_that_cannot_be_imported_is_reported_with_the_rest(tmp_path: Path) -> None:
    text = GOOD.replace("  no_pii:\n", "  no_pii:\n  tone: {use: 'mine.py:tone'}\n").replace(
        "contract: 1\n", "contract: 1\nx: 1\n"
    )

    def load(reference: str, folder: Path) -> Any:
        raise TargetError(f"{reference} does not import")

    assert [line.split(";")[0] for line in complaints(suite_at(tmp_path, text), load=load)] == [
        "suite.yaml:2: unknown key 'x'",
        "suite.yaml:12: graders.tone: mine.py:tone does not import",
    ]


def test_cases_are_read_from_the_suites_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"qid": "a", "input": "x"}')
    (case,) = load_cases(tmp_path, CasesFile(file="mine.jsonl", columns={"id": "qid"}))
    assert case.id == "a"


def test_a_misspelt_grader_is_said_once_and_is_no_name_to_put_into_a_threshold(tmp_path: Path) -> None:
    def said(graders: str, threshold: str) -> list[str]:
        text = "contract: 1\nname: leases\ntarget: {callable: 'a:b', version: '1'}\n"
        root = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        root.mkdir()
        suite_at(root, f"{text}graders: {graders}\ngate: {{min_pass_rate: {threshold}}}\n")
        return complaints(root)

    # The threshold is right once the grader's name is; the misspelt name is offered to nobody.
    for threshold in ("{no_pii: 1}", "{no_pi: 1}"):
        [only] = said("{no_pi: {}}", threshold)
        assert "did you mean 'no_pii'" in only
    grader, threshold = said("{no_pi: {}, groundedness: {}}", "{latency: 1}")
    assert "did you mean 'no_pii'" in grader
    assert "there is no 'latency' here; valid here: completion, groundedness" in threshold
