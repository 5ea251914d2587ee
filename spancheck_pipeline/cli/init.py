"""``spancheck init``: a project for one's own system, in a new folder, that runs at once or says what it still needs.

The files stand in ``templates/``; ``@NAME@`` and its like are filled in here.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

import click

from spancheck_pipeline import __version__

_FILES: Final = {
    "README.md": "README.md",
    ".env.example": "env.example",
    ".gitignore": "gitignore",
    "requirements.txt": "requirements.txt",
    "workspace.yaml": "workspace.yaml",
    ".github/workflows/nightly.yml": "nightly.yml",
    ".github/workflows/pull_request.yml": "pull_request.yml",
    "datasets/@NAME@/suite.yaml": "suite.yaml",
    "datasets/@NAME@/cases.jsonl": "cases.jsonl",
}
"""File of a project → its template in ``templates/project``."""

TARGETS: Final = ("callable", "http", "recorded")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="callable",
    show_default=True,
    help="What answers: a Python function, an HTTP endpoint, or a file of answers.",
)
@click.option("--name", default="answers", show_default=True, help="Name of the suite.")
def init(folder: Path, *, target: str, name: str) -> None:
    """Make a project in DIR: a suite for your own system with a gate and a schedule, and workflows for GitHub.

    DIR is new, or empty (a `.git` may be there); nothing is ever overwritten.
    """
    from spancheck_pipeline.decision.names import check_suite_name
    from spancheck_pipeline.errors import StorageError, UsageError

    try:
        check_suite_name(name)
    except ValueError as error:
        raise UsageError(f"--name: {error}") from None
    files = project_files(name, target)
    _check_empty(folder)
    try:
        _write(folder, files)
    except OSError as error:
        raise StorageError(
            f"{error.filename or folder}: the project cannot be written ({error.strerror}); {_left(folder)}run again "
            "where a folder can be made, and where there is room and leave to write"
        ) from None
    _say(folder, name, target, files)


def _left(folder: Path) -> str:
    """Return what to do about what was written before it failed; nothing where nothing was."""
    try:
        is_begun = any(path.name != ".git" for path in folder.iterdir())
    except OSError:
        is_begun = False
    return f"what was written of it stands in {folder}: remove it, and " if is_begun else "nothing was written; "


def project_files(name: str, target: str) -> dict[str, str]:
    """Return path → text of every file of a project with a suite of a name."""
    from spancheck_pipeline.api.environment import FIRST_PARTITION

    row = "| `datasets/@NAME@/target.py` | where your own system is called |\n"
    filled = {
        "@TARGET@": _template(f"{target}/target.yaml").rstrip(),
        "@FIRST@": _template(f"{target}/first.md").rstrip(),
        "@TARGET_ROW@": row if target == "callable" else "",
        "@VERSION@": __version__,
        "@START@": FIRST_PARTITION,
        "@NAME@": name,  # the last: it stands in what others are filled with
    }
    wanted = {path: f"project/{template}" for path, template in _FILES.items()}
    if target == "callable":
        wanted["datasets/@NAME@/target.py"] = "callable/target.py"
    return {path.replace("@NAME@", name): _filled(template, filled) for path, template in wanted.items()}


def _filled(template: str, filled: dict[str, str]) -> str:
    text = _template(template)
    for mark, value in filled.items():
        text = text.replace(mark, value)
    return text


def _template(name: str) -> str:
    return (resources.files("spancheck_pipeline.cli") / "templates" / f"{name}.tmpl").read_text(encoding="utf-8")


def _check_empty(folder: Path) -> None:
    from spancheck_pipeline.errors import StorageError, UsageError

    if folder.is_symlink() and not folder.exists():
        raise UsageError(
            f"{folder}: a symbolic link stands there that leads nowhere; remove it, or name another folder"
        )
    try:
        found = sorted(path.name for path in folder.iterdir() if path.name != ".git")
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise UsageError(
            f"{folder}: a file stands there, or in the way; name a folder that does not exist yet, or an empty one"
        ) from None
    except OSError as error:
        raise StorageError(f"{folder}: the folder cannot be read ({error.strerror})") from None
    if found:
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""  # noqa: PLR2004 - as many as a line shows
        raise UsageError(
            f"{folder} is not empty ({', '.join(found[:3])}{more}), and nothing is overwritten; name a folder that "
            f"does not exist yet, for example {folder / 'evaluation'}"
        )


def _write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="\n") as handle:
            handle.write(text)


def _say(folder: Path, name: str, target: str, files: dict[str, str]) -> None:
    from spancheck_pipeline.report.visible import visible

    click.echo(f"a project in {visible(str(folder))}:")
    for path in sorted(files):
        click.echo(f"  {path}")
    click.echo("\nnext:")
    for line in _next(folder, name, target, files):
        click.echo(f"  {visible(line)}")


def _next(folder: Path, name: str, target: str, files: dict[str, str]) -> Iterator[str]:
    """Yield what to type, and what to write before or after it."""
    suite = f"datasets/{name}"
    if (here := os.path.relpath(folder)) != ".":
        yield f"cd {shlex.quote(here)}"
    if target == "http":
        lines = files[f"{suite}/suite.yaml"].splitlines()
        line = next(number for number, text in enumerate(lines, 1) if text.lstrip().startswith("url:"))
        yield f"# first put your endpoint's address into {suite}/suite.yaml, line {line}"
    if target == "recorded":
        yield f"# first put your answers into {suite}/answers.jsonl, or name your file in {suite}/suite.yaml"
    yield f"spancheck run {name}"
    if target == "callable":
        yield f"# an example answers; put your own system into {suite}/target.py"
    yield f"# put your own questions into {suite}/cases.jsonl, and run it again as often as you like"
    yield f"spancheck nightly {name}"
    yield "# the night of today: asked once, kept, and the baseline of the nights to come"
    yield "spancheck ui"
    yield f"# there turn {name}_nightly_schedule on, under Automation"
