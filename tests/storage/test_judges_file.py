"""``judges.yaml`` as it is read: mistakes with their line, and the code behind a judge as part of which judge it is."""

from __future__ import annotations

import sys
import textwrap

import pytest

from spancheck_pipeline.api.calibrating import GRADERS, calibrate_subject
from spancheck_pipeline.decision.judges import GRADERS_CALIBRATED
from spancheck_pipeline.decision.standing import CalibrationPolicy
from spancheck_pipeline.decision.trust import standing
from spancheck_pipeline.errors import ConfigError, TargetError, UsageError
from spancheck_pipeline.storage.gold_files import gold_of_rows
from spancheck_pipeline.storage.judge_code import MOST_BYTES
from spancheck_pipeline.storage.judges_file import load_judges
from spancheck_pipeline.storage.store import Store

CODE = 'def judge(system, user):\n    return {"label": "supported", "reason": "r"}\n'


@pytest.fixture
def declare(tmp_path):
    (tmp_path / "judge.py").write_text(CODE)

    def declare(judges):
        lines = textwrap.indent(textwrap.dedent(judges).strip(), "  ")
        (tmp_path / "judges.yaml").write_text(f"contract: 1\njudges:\n{lines}\n")
        return load_judges(tmp_path)

    return declare


def identity(declared, name="j"):
    return declared.judges[name].identity


def test_judges_are_read_with_the_usual_threshold_and_a_panel_asks_what_its_members_ask(declare):
    declared = declare(
        """
        one: {callable: "judge.py:judge", prompt: groundedness_v1, threshold: 0.7}
        two: {stub: {}, prompt: groundedness_v1}
        both: {panel: [one, two]}
        """
    )
    both = declared.named("both")
    assert (declared.judges["one"].threshold, declared.judges["two"].threshold) == (0.7, 0.6)
    assert (both.kind, both.prompt, [member.name for member in both.members]) == (
        "groundedness",
        "groundedness_v1",
        ["one", "two"],
    )


@pytest.mark.parametrize(
    ("judges", "words"),
    [
        ("j: {openai: {base_url: 'ftp://h'}, model: m}", "3: judges.j.openai.base_url: this must be a http:// or"),
        ("j: {openai: {key_env: sk-KEYMARK}, model: m}", "3: judges.j.openai.key_env: this is the name of an environ"),
        ("j: {command: {argv: [cat], billing: none}}", "3: judges.j.command.argv: it has no {system}"),
        ("j: {command: {argv: [cat, '{sytem}'], billing: none}}", "{sytem}; did you mean {system}?"),
        ("j: {command: {argv: [cat, '{system}'], billing: none}, model: m}", "3: judges.j: command.argv and the"),
        ("j: {callable: judge}", "3: judges.j.callable: this must be 'file.py:attribute' or 'module:attribute'"),
        ("j: {callable: 'nudge.py:judge'}", "3: judges.j.callable: there is no file 'nudge.py' in"),
        ("j: {stub: {}, threshold: 0}", "3: judges.j.threshold: must be greater than 0"),
        ("j: {panel: []}", "3: judges.j: a panel has two different judges or more; this one has 0"),
        ("j: {panel: [a, a]}", "3: judges.j: a panel has two different judges or more; this one has 1"),
        (
            "a: {stub: {}}\nb: {stub: {}}\nj: {panel: [a, b], threshold: 0.9, runs: 3}",
            "5: judges.j: a panel takes only",
        ),
        (
            "a: {stub: {}}\nb: {stub: {}}\nj: {panel: [a, b]}\nk: {panel: [a, j]}",
            "6: judges.k.panel: 'j' is a panel its",
        ),
        (
            "a: {stub: {}}\nbee: {stub: {}}\nj: {panel: [a, be]}",
            "5: judges.j.panel: there is no judge 'be' in this file",
        ),
        (
            "a: {stub: {}}\nb: {stub: {}, prompt: faithful_v1}\nj: {panel: [a, b]}",
            "'b' is asked by the prompt 'faithful_v",
        ),
        ("groundedness: {stub: {}}", "3: judges.groundedness: this is the name of a grader that is calibrated"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_never_with_a_key(declare, judges, words):
    with pytest.raises(ConfigError) as refused:
        declare(judges)
    assert words in str(refused.value)
    assert "KEYMARK" not in str(refused.value)


def test_no_judge_is_called_as_a_grader_is_that_is_calibrated():
    assert set(GRADERS_CALIBRATED) == set(GRADERS)


def test_a_judge_that_cannot_be_loaded_is_told_with_its_line_when_it_is_asked(declare, tmp_path):
    declared = declare('j: {callable: "judge.py:jugde"}')
    gold = gold_of_rows([{"claim": "c", "evidence": "e", "label": True}])
    with pytest.raises(TargetError, match=r"judges.yaml:3: judge j: judge.py has no attribute 'jugde'"):
        calibrate_subject(Store(tmp_path / "storage"), declared, "j", gold, by="t")


@pytest.mark.parametrize(
    "settings",
    [
        'callable: "judge.py:judge"',
        'command: {argv: [python3, "{folder}/judge.py", "{system}"], billing: none}',
        'command: {argv: [python3, "--run={folder}/judge.py", "{system}"], billing: none}',
        'command: {argv: ["{folder}/judge.py", "{system}"], billing: none}',
    ],
)
def test_rewritten_code_is_another_judge_and_the_same_code_is_the_same(declare, tmp_path, settings):
    before = identity(declare(f"j: {{{settings}}}"))
    (tmp_path / "judge.py").touch()
    assert identity(declare(f"j: {{{settings}}}")) == before
    (tmp_path / "judge.py").write_text(CODE.replace('"supported"', '"not_supported"'))
    assert identity(declare(f"j: {{{settings}}}")) != before


def test_a_modules_file_is_read_without_importing_it(declare, tmp_path, monkeypatch):
    package = tmp_path / "my_judging"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "mine.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    before = identity(declare('j: {callable: "my_judging.mine:judge"}'))
    (package / "mine.py").write_text(CODE + "# other\n")
    assert identity(declare('j: {callable: "my_judging.mine:judge"}')) != before
    assert "my_judging" not in sys.modules
    # What is not found has its version, and is told when it is asked.
    assert identity(declare('j: {callable: "no_such.module:judge"}')) == identity(
        declare('j: {callable: "no_such.module:judge"}')
    )


def test_a_version_speaks_for_what_cannot_be_seen(declare):
    found = {identity(declare(f"j: {{openai: {{}}, model: m{more}}}")) for more in ("", ", version: a", ", version: b")}
    assert len(found) == 3


def test_a_large_file_is_told_by_its_size(declare, tmp_path):
    weights = tmp_path / "weights.bin"
    with weights.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    declared = declare('j: {command: {argv: [run, "{folder}/weights.bin", "{system}"], billing: none}}')
    assert declared.code["j"] == {"{folder}/weights.bin": f"{MOST_BYTES + 1} bytes"}


def test_code_that_is_changed_after_the_definitions_were_loaded_is_not_asked_under_the_old_name(declare, tmp_path):
    declared = declare('j: {callable: "judge.py:judge"}')
    (tmp_path / "judge.py").write_text(CODE + "# other\n")
    gold = gold_of_rows([{"claim": "c", "evidence": "e", "label": True}])
    with pytest.raises(UsageError, match=r"judges.yaml:3: the code of the judge j was changed .* \(judge.py\); reload"):
        calibrate_subject(Store(tmp_path / "storage"), declared, "j", gold, by="t")


def test_a_rewritten_judge_keeps_neither_verdicts_nor_trust(declare, tmp_path):
    store, gold = (
        Store(tmp_path / "storage"),
        gold_of_rows({"claim": f"c{i}", "evidence": f"e{i}", "label": True} for i in range(3)),
    )
    first = calibrate_subject(store, declare('j: {callable: "judge.py:judge"}'), "j", gold, by="t")
    (tmp_path / "judge.py").write_text(CODE.replace('"supported"', '"not_supported"'))
    again = calibrate_subject(store, declare('j: {callable: "judge.py:judge"}'), "j", gold, by="t")
    assert (first.judged.n_calls, again.judged.n_calls, again.judged.n_kept) == (3, 3, 0)
    assert (first.document.figures.agreement.value, again.document.figures.agreement.value) == (1.0, 0.0)
    stands = standing(again.document.subject, {}, [first.document], CalibrationPolicy(), domain="general")
    assert (stands.trust, stands.gates) == ("uncalibrated", False)
    assert "it is calibrated with another temperature, address, program, function or version of it" in stands.reason
