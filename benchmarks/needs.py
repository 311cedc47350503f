"""Requirements of a benchmark besides the package; a missing one stops it at once with one line."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path


def require_package(module: str, install: str, instead: str = "") -> None:
    """Stop with exit code 2 and a hint for installation unless a module can be imported."""
    if importlib.util.find_spec(module) is None:
        _stop(f"needs {module}: {install}{f', or {instead}' if instead else ''}")


def require_program(name: str, install: str) -> None:
    """Stop with exit code 2 and a hint for installation unless a program can be started."""
    if shutil.which(name) is None:
        _stop(f"needs {name}: {install}")


def require_file(path: Path, content: str) -> None:
    """Stop with exit code 2 unless a file exists; print its expected content."""
    if not path.is_file():
        _stop(f"needs {content}: {path} is no file")


def _stop(reason: str) -> None:
    print(f"{Path(sys.argv[0]).name} {reason}", file=sys.stderr)
    sys.exit(2)
