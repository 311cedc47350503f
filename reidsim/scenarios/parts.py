"""Parts that do not come with the package: adversaries, policies and kinds of installed packages or a user's module.

An entry point of an installed package (``reidsim.adversaries``, ``reidsim.policies``, ``reidsim.kinds``) is there
because its user installed it. A module that a scenario names, ``package.module:factory``, is code that comes with a
file: it runs only if the user allows that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from traceback import walk_tb
from typing import Any, Literal

from reidsim.core.registry import installed
from reidsim.errors import InputError, listed, nearest

Group = Literal["adversaries", "policies", "kinds"]

# Parts in use: the top of the module that each comes from, by name.
_IN_USE: dict[str, str] = {}
# Modules that were imported from the folders of scenarios; of the same name, there may be others elsewhere.
_BESIDE_SCENARIOS: set[str] = set()


def refuse_code(group: Group, name: str, *, where: str, allow_code: bool) -> None:
    """Refuse a part that is code named by a scenario, unless such code may run; nothing is imported.

    Raises
    ------
    InputError
        Tells how to allow it.
    """
    if allow_code or ":" not in name or name in installed(f"reidsim.{group}"):
        return
    raise InputError(
        "code that a scenario names is not run unless that is allowed", where=where, found=name,
        expected="the option --allow-code, or allow_code=True in Python",
        hint="allow it only if you trust whoever wrote the module",
    )  # fmt: skip


def load_part(group: Group, name: str, *, where: str, folder: Path, allow_code: bool) -> Any:
    """Return the factory of a part by the name that a scenario gives it.

    Parameters
    ----------
    group : {"adversaries", "policies", "kinds"}
    name : str
        Of an entry point, or ``package.module:factory``.
    where : str
        The key, for errors.
    folder : Path
        Of the scenario; its modules are found first.
    allow_code : bool
        Whether code that a scenario names may run.

    Raises
    ------
    InputError
        If there is no such part, it cannot be imported, or code is not allowed.
    """
    known = installed(f"reidsim.{group}")
    if name in known:
        with told_in_a_line("cannot be imported", name, where):
            return in_use(name, known[name].load())
    module, separator, attribute = name.partition(":")
    if not separator:
        raise InputError(
            "no such part is installed", where=where, found=name,
            expected=f"one of {listed(known)}" if known else "package.module:factory", hint=nearest(name, known),
        )  # fmt: skip
    refuse_code(group, name, where=where, allow_code=allow_code)
    found = _module(module, name, where=where, folder=folder)
    if not hasattr(found, attribute):
        raise InputError("the module has no such object", where=where, found=name, expected=f"{attribute} in {module}")
    return in_use(name, getattr(found, attribute))


def in_use(name: str, part: Any) -> Any:
    """Return a part, and remember that errors may come from it, unless the package defines it."""
    module = _module_of(part).partition(".")[0]
    if module != __name__.partition(".")[0]:
        _IN_USE[name] = module
    return part


def fault_of_parts(error: Exception) -> InputError | None:
    """Return an error that no code of reidsim expects as the fault of the parts in use, in one line.

    Parameters
    ----------
    error : Exception
        Raised by a part, or by the package on what a part returned.

    Returns
    -------
    InputError or None
        None if no part is in use, or the error is one of files or memory and no part raised it.
    """
    if not _IN_USE:
        return None
    raised_by = ""
    for frame, line in walk_tb(error.__traceback__):
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        for name, module in _IN_USE.items():
            if module == top:
                raised_by = f"{name}: {Path(frame.f_code.co_filename).name}, line {line}"
    if not raised_by and isinstance(error, OSError | MemoryError):
        return None
    others = f"unexpected error, with parts in use that are not of the package: {', '.join(_IN_USE)}"
    return InputError(
        f"{type(error).__name__}: {error}", where=raised_by or others,
        hint="reidsim.run in Python shows the whole traceback",
    )  # fmt: skip


def module_files(name: str, folder: Path) -> tuple[Path, ...]:
    """Return the files of a part's module, if it is beside its scenario; of a package, all of its modules."""
    module, separator, _ = name.partition(":")
    beside = _beside(module.partition(".")[0], folder) if separator else None
    if beside is None:
        return ()
    return (beside,) if beside.parent == folder else tuple(sorted(beside.parent.rglob("*.py")))


def made_by(part: object) -> dict[str, str]:
    """Return the package and version that made a part, for manifests."""
    module = _module_of(part)
    top = module.partition(".")[0]
    for distribution in packages_distributions().get(top, [top]):
        try:
            return {"module": module, "package": distribution, "version": version(distribution)}
        except PackageNotFoundError:
            continue
    return {"module": module}


def _module_of(part: object) -> str:
    module: str = getattr(part, "__module__", None) or type(part).__module__
    return module


@contextmanager
def told_in_a_line(problem: str, name: str, where: str) -> Iterator[None]:
    """Make an `InputError` of whatever foreign code raises, which its user has to know."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{problem}: {type(error).__name__}: {error}", where=where, found=name) from None


def _module(module: str, name: str, *, where: str, folder: Path) -> Any:
    """Import a module, one beside the scenario first."""
    top = module.partition(".")[0]
    beside = _beside(top, folder)
    known = sys.modules.get(top)
    if beside is not None and known is not None and not _is_of(known, beside):
        if top not in _BESIDE_SCENARIOS:
            raise InputError(
                "another module of this name is in use", where=where, found=name,
                expected=f"another name for {beside}",
            )  # fmt: skip
        # That of a scenario elsewhere.
        for other in [other for other in sys.modules if other == top or other.startswith(f"{top}.")]:
            del sys.modules[other]
    if beside is not None:
        _BESIDE_SCENARIOS.add(top)
        # A file may be newer than what is remembered of its folder.
        invalidate_caches()
    with _importing_from(folder), told_in_a_line("cannot be imported", name, where):
        return import_module(module)


def _beside(top: str, folder: Path) -> Path | None:
    """Return the file of a module or package in the folder of a scenario, if it is there."""
    return next((path for path in (folder / f"{top}.py", folder / top / "__init__.py") if path.is_file()), None)


def _is_of(module: object, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    path = str(folder.absolute())
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)
