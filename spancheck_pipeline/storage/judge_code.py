"""The code behind a judge, by digest: a rewritten function or program is another judge, and keeps no verdicts or trust.

Read are the file that ``callable: file.py:attribute`` names, the module of ``callable: module:attribute`` where it is
found without importing anything, and of a command every argument that is a file. What these import or start in turn is
not seen; ``version`` in ``judges.yaml`` speaks for it. What the digests mean lives in ``decision/judges.py``.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from spancheck_pipeline.decision.judges import JudgeSettings

MOST_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a file that is read. A larger one (a model's weights, say) is told by its size alone."""

_FOLDER: Final = "{folder}"


def code_of(settings: JudgeSettings, folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file behind a judge, by the name that its settings give it. Nothing is run.

    ``folder`` is where ``judges.yaml`` lies. A file that cannot be read is left out: calling the judge tells.
    """
    found = {}
    for name, path in _files(settings, folder):
        if (read := _digest(path)) is not None:
            found[name] = read
    return dict(sorted(found.items()))


def _files(settings: JudgeSettings, folder: Path) -> Iterator[tuple[str, Path]]:
    if settings.callable is not None:
        place = settings.callable.rpartition(":")[0]
        path = folder / place if place.endswith(".py") else _module_file(place)
        if path is not None:
            yield place, path
    elif settings.command is not None:
        for number, argument in enumerate(settings.command.argv):
            # ``--config={folder}/x.json`` names a file as well.
            for named in dict.fromkeys((argument, argument.partition("=")[2])):
                path = Path(named.replace(_FOLDER, str(folder.resolve())))
                # A program that is installed (an interpreter) is another file on every machine: it has its version.
                if path.is_absolute() and (number or _is_below(path, folder)):
                    yield named, path


def _is_below(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # no path that a system could have
        return False


def _module_file(name: str) -> Path | None:
    """Return the file of a module, found as an import from the working folder would find it, without importing any."""
    path: list[str] | None = [str(Path.cwd()), *sys.path]
    *parents, last = name.split(".")
    try:
        for number in range(1, len(parents) + 1):
            spec = PathFinder.find_spec(".".join(parents[:number]), path)
            path = list(spec.submodule_search_locations or []) if spec else None
            if not path:
                return None
        spec = PathFinder.find_spec(".".join([*parents, last]), path)
    except (ImportError, ValueError, OSError):
        return None
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _digest(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        size = path.stat().st_size
        return f"{size} bytes" if size > MOST_BYTES else hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return None


__all__ = ["MOST_BYTES", "code_of"]
