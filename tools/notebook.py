"""Play the notebooks of the documentation again, and write their outputs into them.

    python tools/notebook.py            # every notebook of docs/notebooks
    python tools/notebook.py --check    # ends with 1 if the outputs in one of them are others

Cells are played one after the other in one namespace, as a kernel does; of the last expression of each, its text and
its HTML are kept.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def played(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells, played in a folder of their own."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    number += 1
                    outputs = _outputs("".join(cell["source"]), names, number)
                    cells.append({**cell, "execution_count": number, "outputs": outputs})
                else:
                    cells.append(cell)
        finally:
            os.chdir(before)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # The text of this repository's own notebook.
        exec(compile(ast.Module(body, []), "notebook", "exec"), names)  # noqa: S102
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    for warning in caught:
        outputs.append({"name": "stderr", "output_type": "stream", "text": _lines(f"warning: {warning.message}\n")})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        html = getattr(value, "_repr_html_", lambda: None)()
        if html is not None:
            data["text/html"] = _lines(html)
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> int:
    """Write the outputs, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args()
    other = False
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        new = played(notebook)
        other |= new != notebook
        if not given.check:
            path.write_text(json.dumps(new, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(given.check and other)


if __name__ == "__main__":
    sys.exit(main())
