"""``spancheck calibrate`` as its user calls it: figures, files, exit codes, mistakes."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from scenario import spancheck

JUDGE = """
    def judge(system, user):
        if "lost" in user:
            raise RuntimeError("secret words of the server")
        word = "supported" if "true" in user else "not_supported"
        return {"label": word, "reason": "private reason"}
"""


@pytest.fixture
def gold(project):
    datasets = project.folder / "datasets"
    (datasets / "judges.yaml").write_text(
        'contract: 1\njudges:\n  scripted: {callable: "judge.py:judge", retries: 0, backoff_s: 0}\n  off: {stub: {}}\n'
    )
    (datasets / "judge.py").write_text(textwrap.dedent(JUDGE))
    path = project.folder / "gold.jsonl"

    def write(n=60, word=""):
        rows = [
            {"id": f"{label}{i}", "claim": f"{word} it is {str(label).lower()}, says claim {i}", "evidence": f"e{i}",
             "label": label, "stratum": "s" if i % 2 else "t"}
            for label in (True, False)
            for i in range(n)
        ]  # fmt: skip
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(path)

    return write


def test_it_prints_the_figures_and_where_the_judge_stands(gold, capsys):
    assert spancheck("calibrate", "scripted", "--gold", gold()) == 0

    out = capsys.readouterr().out
    assert "120 calls made, 0 verdicts were there already" in out
    assert "agreement                100.0%  [96.9%, 100.0%] of 120" in out
    assert "trusted by the default policy: 120 gold items of the domain general" in out
    assert "judge=scripted/domain=general/part-0.parquet(revision1)" in "".join(out.split())
    assert not any(text in out for text in ("private reason", "says claim"))


def test_json_markdown_and_pictures(gold, capsys, tmp_path):
    files = {name: tmp_path / f"{name}.txt" for name in ("markdown", "svg", "matrix")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]

    code = spancheck(
        "calibrate", "scripted", "--gold", gold(), "--json", "--domain", "small", "--sampling", "slice", *options
    )

    shown = json.loads(capsys.readouterr().out)
    assert (code, shown["standing"]["trust"], shown["asked"]) == (0, "trusted", {"n_calls": 120, "n_kept": 0})
    assert (shown["calibration"]["gold"]["domain"], shown["calibration"]["gold"]["sampling"]) == ("small", "slice")
    assert files["markdown"].read_text().startswith("## <code>scripted</code> against <code>gold</code>")
    assert all(files[name].read_text().startswith("<svg") for name in ("svg", "matrix"))


def test_the_labelling_policy_changes_the_digest_and_not_the_calls(gold, capsys, tmp_path):
    policy = tmp_path / "policy.md"
    policy.write_text("Wholly, or not at all.")
    path = gold()
    spancheck("calibrate", "scripted", "--gold", path, "--json")
    spancheck("calibrate", "scripted", "--gold", path, "--json", "--policy", str(policy))

    decoder, text = json.JSONDecoder(), capsys.readouterr().out
    first, end = decoder.raw_decode(text)
    second, _ = decoder.raw_decode(text[end:].lstrip())
    assert first["calibration"]["gold"]["digest"] != second["calibration"]["gold"]["digest"]
    assert second["asked"]["n_calls"] == 0


def test_a_judge_that_answers_nothing_is_exit_code_1_and_never_a_rate(gold, capsys):
    assert spancheck("calibrate", "scripted", "--gold", gold(n=2, word="lost")) == 1

    shown = capsys.readouterr()
    assert "without an answer judge_failed:" in shown.out
    assert "agreement                not measured" in shown.out
    assert "secret words" not in shown.out + shown.err


def test_a_calibration_on_another_gold_set_of_the_domain_is_replaced_only_where_that_is_meant(gold, capsys, tmp_path):
    path = gold(n=3)
    assert spancheck("calibrate", "scripted", "--gold", path) == 0
    gold(n=4)  # another version of the same set
    assert spancheck("calibrate", "scripted", "--gold", path, "--json") == 0
    other = tmp_path / "other.jsonl"
    other.write_text(Path(path).read_text())
    capsys.readouterr()

    assert spancheck("calibrate", "scripted", "--gold", str(other)) == 2
    said = capsys.readouterr().err
    assert "scripted has a calibration for the domain general on the gold set 'gold', and this one is 'other'" in said
    assert "--replace" in said
    assert spancheck("calibrate", "scripted", "--gold", str(other), "--domain", "elsewhere") == 0
    assert spancheck("calibrate", "scripted", "--gold", str(other), "--replace") == 0
    assert "(revision 3)" in " ".join(capsys.readouterr().out.split())


def test_it_prints_how_far_people_agree_with_each_other(gold, capsys):
    path = Path(gold(n=3))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    votes = [[row["label"], row["label"], row["label"] != (n % 2 == 0)] for n, row in enumerate(rows)]
    path.write_text(
        "".join(json.dumps({**row, "labellers": said}) + "\n" for row, said in zip(rows, votes, strict=True))
    )

    assert spancheck("calibrate", "scripted", "--gold", str(path)) == 0

    # Of six items three have one vote of three against the others: of 6 x 3 pairs 3 x 2 disagree.
    out = capsys.readouterr().out
    assert "two people agree         66.7% over 6 items" in out
    assert "one against the others   " in out
    assert "(ceiling)" in out


def test_why_replies_cannot_be_read_is_told_in_a_word(gold, project, capsys):
    (project.folder / "datasets" / "judge.py").write_text("def judge(system, user):\n    return '{\"verdict\": 1}'\n")
    assert spancheck("calibrate", "scripted", "--gold", gold(n=1)) == 1
    assert "judge_failed:UnreadableVerdictError.no_label × 2" in capsys.readouterr().out


def test_the_stub_and_the_deterministic_graders(gold, capsys):
    assert spancheck("calibrate", "off", "--gold", gold(n=3)) == 0
    assert "not a judge by the default policy" in capsys.readouterr().out
    assert spancheck("calibrate", "groundedness", "--gold", gold(n=3)) == 0
    assert "deterministic grader, threshold 0.6" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scripted", "--gold", "none.jsonl"], "none.jsonl: there is no such file"),
        (["scriptet", "--gold", "GOLD"], "there is no judge 'scriptet' to calibrate; did you mean 'scripted'?"),
        (["scripted", "--gold", "GOLD", "--domain", "../x"], "'../x' is no domain"),
        (["scripted", "--gold", "GOLD", "--policy", "none.md"], "none.md: the labelling policy cannot be read"),
        (["scripted"], "Missing option '--gold'"),
    ],
)
def test_a_mistake_is_said_with_exit_code_2(gold, capsys, arguments, words):
    path = gold(n=1)

    assert spancheck("calibrate", *(path if part == "GOLD" else part for part in arguments)) == 2
    assert words in capsys.readouterr().err


def test_a_scorecard_on_the_terminal_says_what_a_judge_said_and_where_it_stands(gold, project, capsys):
    project.write_suite(graders=', judged: {use: citation_accuracy, support: "judge:scripted"}')
    assert spancheck("calibrate", "scripted", "--gold", gold()) == 0
    spancheck("run", "small", "--run-id", "r1")

    out = " ".join(capsys.readouterr().out.split())
    assert "judge raw rate corrected 95 % method packets failed standing" in out
    assert "borrowed calibration scripted does not gate (judged): its calibration is of the domain general" in out
