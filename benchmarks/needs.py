"""What a benchmark needs besides the package, said at once and in a line if it is not there."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path


def require_package(module: str, install: str, instead: str = "") -> None:
    """Stop with exit code 2 unless a module can be imported; say how it is installed, and what goes without it."""
    if importlib.util.find_spec(module) is None:
        _stop(f"needs {module}: {install}{f', or {instead}' if instead else ''}")


def require_program(name: str, install: str) -> None:
    """Stop with exit code 2 unless a program can be started; say how it is installed."""
    if shutil.which(name) is None:
        _stop(f"needs {name}: {install}")


def require_file(path: Path, what: str) -> None:
    """Stop with exit code 2 unless a file is there; say what it is."""
    if not path.is_file():
        _stop(f"needs {what}: {path} is no file")


def _stop(what: str) -> None:
    print(f"{Path(sys.argv[0]).name} {what}", file=sys.stderr)
    sys.exit(2)
