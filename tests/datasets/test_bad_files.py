"""A user's bad file, at the command line: one screen that says what, where and the fix; exit 2; nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from spancheck_pipeline.cli.main import main

SUITE = """\
contract: 1
name: mine
target: {callable: "target.py:answer"}
graders: {no_pii: {}}
"""
CASE = '{"id": "a", "input": "x"}\n'
TARGET = "def answer(question):\n    return 'An answer.'\n"


class Shown(NamedTuple):
    """What a command said."""

    code: int
    text: str


@pytest.fixture
def spancheck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Shown]:
    """Run the command line on a project in a temporary folder, which holds one good suite."""
    folder = tmp_path / "datasets" / "mine"
    folder.mkdir(parents=True)
    for name, text in {"suite.yaml": SUITE, "cases.jsonl": CASE, "target.py": TARGET}.items():
        (folder / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    for name in ("SPANCHECK_NAMESPACE", "SPANCHECK_TIMEZONE", "SPANCHECK_START_DATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPANCHECK_DATASETS", str(tmp_path / "datasets"))
    monkeypatch.setenv("SPANCHECK_STORAGE", str(tmp_path / "storage"))

    def run(*argv: str) -> Shown:
        with pytest.raises(SystemExit) as ended:
            main(list(argv))
        code = ended.value.code
        return Shown(code if isinstance(code, int) else 0, capsys.readouterr().err)

    return run


def stored(folder: Path) -> list[str]:
    """Return the files of the storage, which a command that could not run leaves as they were."""
    return sorted(str(path) for path in (folder / "storage").rglob("*") if path.is_file())


def test_the_good_suite_runs(tmp_path: Path, spancheck: Callable[..., Shown]) -> None:
    assert spancheck("run", "mine").code == 0
    assert stored(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("cases.jsonl", b"", "cases.jsonl: the file holds no case; write at least one"),
        ("cases.jsonl", b"{oops\n" * 500, "and 480 more problems in"),
        ("cases.jsonl", (CASE * 2).encode(), "cases.jsonl:2: the id 'a' stands twice (first in line 1)"),
        ("cases.jsonl", b'{"id": "a", "input": "caf\xe9"}', "cases.jsonl:1: this line is not UTF-8"),
        ("cases.jsonl", b'{"id": "a", "input": "x", "expcted": 1}', "unknown column 'expcted'; did you mean"),
        ("suite.yaml", b"", "suite.yaml: the key 'contract' is missing"),
        ("suite.yaml", b"a: [\n", "suite.yaml:1:4: not YAML"),
        (
            "suite.yaml",
            SUITE.replace("1", "7").encode(),
            "contract 7 is not known here (this version reads",
        ),
        ("suite.yaml", SUITE.replace("mine", "../x").encode(), "suite.yaml:2: name: '../x' is not a name"),
        ("suite.yaml", SUITE.replace("no_pii", "no_pi").encode(), "there is no measurement 'no_pi'; did you mean"),
        ("suite.yaml", (SUITE + "cases: ../../x.jsonl\n").encode(), "a path must not hold '..'"),
        ("suite.yaml", (SUITE + "cases: none.csv\n").encode(), "none.csv: there is no such file; write it, or correct"),
    ],
)
def test_a_bad_file_gets_one_screen_and_exit_2_and_nothing_is_stored(
    tmp_path: Path, spancheck: Callable[..., Shown], name: str, content: bytes, says: str
) -> None:
    (tmp_path / "datasets" / "mine" / name).write_bytes(content)
    shown = spancheck("run", "mine")
    assert shown.code == 2
    assert says in shown.text
    assert "Traceback" not in shown.text
    assert len(shown.text.splitlines()) <= 24
    assert stored(tmp_path) == []


@pytest.mark.parametrize("command", ["run", "nightly"])
@pytest.mark.parametrize(("name", "says"), [("../mine", "is not a name"), ("mien", "did you mean 'mine'?")])
def test_a_suite_that_is_none_is_refused_by_name(
    tmp_path: Path, spancheck: Callable[..., Shown], command: str, name: str, says: str
) -> None:
    shown = spancheck(command, name)
    assert shown.code == 2
    assert says in shown.text
    assert "Traceback" not in shown.text
    assert stored(tmp_path) == []


def test_a_target_that_does_not_import_names_the_module_that_is_missing(
    tmp_path: Path, spancheck: Callable[..., Shown]
) -> None:
    (tmp_path / "datasets" / "mine" / "target.py").write_text("import nowhere_at_all\n")
    shown = spancheck("run", "mine")
    assert shown.code == 2
    assert "target.py does not import: ModuleNotFoundError (missing module 'nowhere_at_all')" in shown.text
    assert "Traceback" not in shown.text


def test_bom_and_crlf_are_no_reason_to_refuse_a_file(tmp_path: Path, spancheck: Callable[..., Shown]) -> None:
    (tmp_path / "datasets" / "mine" / "cases.jsonl").write_bytes(
        b"\xef\xbb\xbf" + CASE.encode().replace(b"\n", b"\r\n")
    )
    assert spancheck("run", "mine").code == 0
