"""``datasets/judges.yaml``: the project's judges, read with every mistake at once, each with its line.

What the keys mean lives in ``decision/judges.py``; what makes a judge the same judge in ``grading/judge.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from spancheck_pipeline.decision.judges import JudgeSettings, JudgesFile, judges_of
from spancheck_pipeline.errors import ConfigError, ContractError, Problem, UsageError
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.grading.judge import PROMPTS, Judge
from spancheck_pipeline.storage.wording import nearest
from spancheck_pipeline.storage.yaml_document import Document, as_json, model_problems, read_yaml

JUDGES_FILE: Final = "judges.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredJudges:
    """The judges of a project, whole: settings to call them by, and the judge as graders know it."""

    settings: Mapping[str, JudgeSettings] = field(default_factory=dict)
    judges: Mapping[str, Judge] = field(default_factory=dict)
    folder: Path = Path()
    """The datasets folder: where ``callable: file.py:attribute`` is looked for."""

    def named(self, name: str) -> Judge:
        """Return a judge by name.

        Raises:
            UsageError: when none is called so; the nearest one is named.
        """
        if name not in self.judges:
            fix = nearest(name, self.judges) if self.judges else f"declare it in {self.folder / JUDGES_FILE}"
            raise UsageError(f"there is no judge {name[:80]!r}; {fix}")
        return self.judges[name]


def load_judges(datasets: Path) -> DeclaredJudges:
    """Return the judges that a datasets folder declares; none where it has no ``judges.yaml``.

    Raises:
        ContractError: for a file of another contract.
        ConfigError: with everything that is wrong, each with its line.
    """
    path = datasets / JUDGES_FILE
    if not path.exists():
        return DeclaredJudges(folder=datasets)
    document = read_yaml(path)
    contract = document.data.get("contract")
    if isinstance(contract, int) and not isinstance(contract, bool) and contract != CONTRACT:
        raise ContractError(document.file, found=contract, known=CONTRACT)
    try:
        file = JudgesFile.model_validate_json(as_json(document.data), strict=True)
    except ValidationError as error:
        raise ConfigError(document.file, model_problems(error, document, JudgesFile)) from None
    if problems := list(_unknown(file, document)):
        raise ConfigError(document.file, problems)
    return DeclaredJudges(settings=file.judges, judges=judges_of(file), folder=datasets)


def _unknown(file: JudgesFile, document: Document) -> list[Problem]:
    """Return what names nothing that there is: prompts, and members of panels."""
    problems = []
    single = [name for name, settings in file.judges.items() if not settings.panel]
    for name, settings in file.judges.items():
        if settings.prompt not in PROMPTS:
            what = f"judges.{name}.prompt: there is no prompt {settings.prompt[:80]!r}"
            problems.append(document.problem(("judges", name, "prompt"), what, nearest(settings.prompt, PROMPTS)))
        for member in settings.panel:
            if member not in single:
                what = f"judges.{name}.panel: {member!r} is no single judge of this file"
                problems.append(document.problem(("judges", name, "panel"), what, nearest(member, single)))
            elif file.judges[member].prompt != settings.prompt:
                what = f"judges.{name}.panel: {member!r} is asked by the prompt {file.judges[member].prompt!r}"
                fix = f"a panel is asked the same: give both the prompt {settings.prompt!r}"
                problems.append(document.problem(("judges", name, "panel"), what, fix))
    return problems


__all__ = ["JUDGES_FILE", "DeclaredJudges", "load_judges"]
