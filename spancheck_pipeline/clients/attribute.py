"""Loading what a suite names in the user's code: ``module:attribute`` or ``file.py:attribute``.

Calling what was loaded lives in ``callable_target.py``.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spancheck_pipeline.clients.call_errors import class_name
from spancheck_pipeline.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def load_attribute(reference: str, folder: Path) -> Any:
    """Return what ``module:attribute`` (from the working folder) or ``file.py:attribute`` (in ``folder``) names.

    Raises:
        TargetError: saying what does not load, the class of the error and its file and line; never the error's text,
            which may quote anything.
    """
    place, colon, attribute = reference.rpartition(":")
    if not colon or not place or not attribute:
        raise TargetError(f"{reference[:200]!r} is not 'module:attribute' or 'file.py:attribute'")
    module = _load_file(place, folder) if place.endswith(".py") else _load_module(place)
    value: Any = module
    for name in attribute.split("."):
        if not hasattr(value, name):
            raise TargetError(f"{place} has no attribute {name!r}; {reference!r} must name one that it defines")
        value = getattr(value, name)
    return value


def _load_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise TargetError(f"{name!r} is not a module name; for a file in the suite's folder write 'file.py:attribute'")
    with _importable(Path.cwd()):
        try:
            return importlib.import_module(name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the user's module may raise anything, SystemExit included
            raise _import_failure(name, error) from None


def _load_file(place: str, folder: Path) -> ModuleType:
    root = folder.resolve()
    path = (root / place).resolve()
    if not path.is_relative_to(root):
        raise TargetError(f"{place!r} leaves the suite's folder; name a file in it, or a module as 'module:attribute'")
    if not path.is_file():
        raise TargetError(f"{place!r} is not a file in the suite's folder {folder}")
    stat = path.stat()
    stamp = (stat.st_mtime_ns, stat.st_size)
    name = "spancheck_suite_file_" + hashlib.sha256(str(path).encode()).hexdigest()[:16]
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__spancheck_stamp__", None) == stamp:
        return known  # target, version and graders in one file share one module
    return _execute(path, name=name, place=place, stamp=stamp)


def _execute(path: Path, *, name: str, place: str, stamp: tuple[int, int]) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{place!r} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses and pickle look their module up
    with _importable(Path.cwd()):
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
            if isinstance(error, KeyboardInterrupt):
                raise
            raise _import_failure(place, error) from None
    module.__dict__["__spancheck_stamp__"] = stamp
    return module


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let modules of a folder be imported while this is open, as ``python -m`` would."""
    entry = str(folder)
    if entry in sys.path:
        yield
        return
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if entry in sys.path:
            sys.path.remove(entry)


def _import_failure(what: str, error: BaseException) -> TargetError:
    where = _where(error)
    missing = f" (missing module {error.name!r})" if isinstance(error, ImportError) and error.name else ""
    fix = "install it, or run in the folder that holds it" if missing else "correct it and run again"
    return TargetError(f"{what} does not import: {class_name(error)}{missing}{f' at {where}' if where else ''}; {fix}")


def _where(error: BaseException) -> str | None:
    """Return ``file:line`` in the user's code, or None when the import machinery itself failed."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen") and frame.filename not in (__file__, importlib.__file__)
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
