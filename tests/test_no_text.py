"""A night whose every text field holds words of its own: none of them stands where only figures belong."""

from __future__ import annotations

import json
import sqlite3
import sys
import textwrap
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest
from scenario import Project

from spancheck_pipeline.cli.main import main
from spancheck_pipeline.definitions import build
from spancheck_pipeline.evidence.run import Manifest
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, JUDGE_VERDICTS, SCORES, TABLES

WORD = "zebrafish"
"""Part of every text below; each has a number of its own."""

TARGET = f"""
    import logging

    VERSION = "1"


    def answer(question, history):
        print("{WORD} 01 printed")
        logging.getLogger("mine").warning("{WORD} 02 logged")
        if "raise" in question:
            raise ValueError("{WORD} 03 raised")
        return {{
            "answer": "{WORD} 04 answered on 2019-03-14",
            "contexts": [{{"source_id": "s", "text": "{WORD} 05 passage", "title": "{WORD} 06 title"}}],
            "citations": [{{"quote": "{WORD} 07 quote", "claim": "{WORD} 08 claim", "source_id": "s"}}],
            "finish_reason": "{WORD} 09 as a reason",
            "served_model": "{WORD} 10 as a model",
            "versions": {{"{WORD} 11 part": "{WORD} 12 version"}},
            "raw": {{"{WORD} 13 key": "{WORD} 14 value"}},
        }}
"""
GRADER = f"""
    def loud(case, output):
        print("{WORD} 15 printed by a grader")
        raise KeyError("{WORD} 16 raised by a grader")
"""


def case(number: int) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "input": f"{WORD} 17 asked" + (" raise" if number == 3 else ""),
        "history": [{"role": "user", "text": f"{WORD} 18 said before"}],
        "expected": f"{WORD} 19 expected",
        "answerable": True,
        "contexts": [{"source_id": "k", "text": f"{WORD} 20 known"}],
        "meta": {f"{WORD} 21 key": f"{WORD} 22 value"},
        "criteria": [
            {"id": "day", "type": "presence", "target": {"date": "2019-03-14"}, "comment": f"{WORD} 23 comment"},
            {"id": "text", "type": "presence", "target": {"text": f"{WORD} 24 target"}},
            {"id": "field", "type": "identity", "target": {"field": f"{WORD} 25 field", "value": f"{WORD} 26 value"}},
            {"id": "region", "type": "abstention", "target": {
                "region": f"{WORD} 27 region", "forbidden_terms": [f"{WORD} 28 term"], "markers": [f"{WORD} 29 marker"],
            }},
            {"id": "judged", "type": "faithful", "target": {"statement": f"{WORD} 30 statement"}},
        ],
    }  # fmt: skip


JUDGE = f"""
    import logging


    def ask(system, user):
        print(user)
        logging.getLogger("judge").error(user)
        if "statement" in user:
            raise ValueError(user)
        return {{"label": "supported", "reason": "{WORD} 31 reason", "model": "{WORD} 32 as a model"}}
"""
PROGRAM = """
    import os, sys

    asked = sys.stdin.read()
    print(os.environ["JUDGE_KEY"], asked, sys.argv, file=sys.stderr)
    sys.exit(3)
"""
SECRET = "kolibri-9b1f"
"""The key of a judge that is a program. It stands nowhere at all."""
JUDGES = """
contract: 1
judges:
  loud: {callable: "judge.py:ask", retries: 0}
  strict: {callable: "judge.py:ask", retries: 0, prompt: faithful_v1}
  program:
    command: {argv: [PYTHON, PROGRAM, "{system}"], billing: api, key_env: JUDGE_KEY}
    retries: 0
"""


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    project = Project(tmp_path, target=TARGET)
    datasets = project.suite_folder.parent
    (datasets / "judge.py").write_text(textwrap.dedent(JUDGE))
    (datasets / "program.py").write_text(textwrap.dedent(PROGRAM))
    judges = JUDGES.replace("PYTHON", json.dumps(sys.executable)).replace(
        "PROGRAM", json.dumps(str(datasets / "program.py"))
    )
    (datasets / "judges.yaml").write_text(judges)
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    (project.suite_folder / "mine.py").write_text("\n".join(line[4:] for line in GRADER.splitlines()))
    project.write_cases([case(number) for number in range(4)])
    project.write_suite(
        graders=', criteria: {judge: strict}, expected_contains: {}, loud: {use: "mine.py:loud"}, '
        "whole: {use: llm_judge, judge: loud}, again: {use: llm_judge, judge: program}",
        more="epochs: 2\n",
    )
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return project


def spancheck(*arguments: str) -> None:
    with pytest.raises(SystemExit):
        main(list(arguments))


def holding(word: str, folder: Path) -> list[Path]:
    """Return the files that hold a word."""
    return [path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_no_text_of_a_case_an_answer_or_a_criterion_stands_in_any_summary(project, capfd):
    folder = Path(project.folder)
    spancheck("nightly", "small")
    spancheck("nightly", "small", "--json")
    spancheck("plan", "small")
    spancheck("gate", "small", "--json", "--junit", "junit.xml", "--markdown", "gate.md")
    store, place = Store(project.storage), Night("small", project.environment.today())

    shown = capfd.readouterr()
    assert "gate: FAIL" in shown.out
    assert WORD not in shown.out + shown.err
    assert SECRET not in shown.out + shown.err
    for name in ("junit.xml", "gate.md"):
        assert WORD not in (folder / name).read_text(encoding="utf-8"), name
    assert [path for path in holding(WORD, folder / "dagster_home") if path.suffix != ".db"] == []
    for path in (folder / "dagster_home").rglob("*.db"):
        assert WORD not in "\n".join(sqlite3.connect(path).iterdump()), path
    for table in TABLES.values():
        if not table.contains_text and store.exists(place, table):
            assert WORD not in json.dumps(list(store.open(place, table).rows()), default=str), table.name
            assert WORD not in json.dumps({k: str(v) for k, v in store.open(place, table).metadata.items()}), table.name
    assert holding(SECRET, folder) == []
    # The texts are where they belong, so that their absence elsewhere says something.
    for table, grader in ((CASES, None), (CAPTURED_RUN, None), (JUDGE_VERDICTS, None), (SCORES, "criteria")):
        file = store.open(place, table, grader)
        if table is not SCORES:
            assert WORD in json.dumps(list(file.rows()), default=str)
        assert WORD not in json.dumps({k: str(v) for k, v in file.metadata.items()}), table.name


PARROT = f"""
    import json, os, sys

    said = os.environ["JUDGE_KEY"] + " {WORD} 33 said of " + sys.stdin.read()
    print(json.dumps({{"label": "supported", "reason": said}}))
"""


def told(folder: Path) -> str:
    """Return everything that the files of a folder hold, those of tables and databases included."""
    texts = []
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            table = pq.read_table(path, partitioning=None)
            texts.append(f"{table.to_pylist()} {table.schema.metadata}")
        elif path.suffix == ".db":
            texts.extend(sqlite3.connect(path).iterdump())
        elif path.is_file():
            texts.append(path.read_bytes().decode("utf-8", "replace"))
    return "\n".join(texts)


def test_calibrating_leaves_no_text_in_dagster_and_nowhere_a_key_that_a_reply_repeats(project, capfd):
    datasets = project.suite_folder.parent
    (datasets / "program.py").write_text(textwrap.dedent(PARROT))
    (datasets / "gold").mkdir()
    rows = [
        {
            "id": f"g{i}",
            "claim": f"{WORD} 34 claim {i}",
            "evidence": f"{WORD} 35 evidence",
            "label": i % 2,
            "group": "g",
        }
        for i in range(4)
    ]
    (datasets / "gold" / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (datasets / "gold" / "mine.yaml").write_text(f"contract: 1\npolicy: {WORD} 36 policy\n")
    home = Path(project.folder) / "dagster_home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    definitions = build(project.environment)

    with dg.DagsterInstance.get() as instance:
        result = dg.materialize(
            [definitions.get_assets_def("calibration")],
            partition_key="program",
            resources=definitions.resources,
            instance=instance,
        )

    (event,) = result.asset_materializations_for_node("calibration")
    assert event.metadata["n_measured"].value == 4
    assert WORD not in str(event.metadata)
    shown = capfd.readouterr()
    assert WORD not in shown.out + shown.err + told(home)
    store = Path(project.storage)
    assert WORD not in told(store / "calibration")
    # The reply is kept with its verdict, and the key is not.
    assert f"*** {WORD} 33 said of" in told(store)
    assert SECRET not in told(Path(project.folder)) + shown.out + shown.err


def test_a_manifest_keeps_names_and_no_text_that_a_target_gives_for_one(project):
    spancheck("nightly", "small")

    document = Store(project.storage).open(Night("small", project.environment.today()), CAPTURED_RUN).document()
    manifest = Manifest.model_validate(document)
    assert (manifest.finish_reasons, manifest.served_models) == ({"other": 6}, {"(unreadable name)": 6})
    assert manifest.versions == {"other": ("(unreadable version)",)}
    assert manifest.criteria == dict.fromkeys(["day", "field", "judged", "region", "text"], 4)
    assert set(manifest.graders) >= {"criteria", "completion", "loud"}
    settings = manifest.graders["criteria"]["settings"]
    assert {name: settings[name] for name in ("date_order", "other_order")} == {
        "date_order": "month_first",
        "other_order": False,
    }
    assert settings["judge"]["name"] == "strict"
    assert (manifest.cost_usd, manifest.n_unpriced) == (None, 6)
