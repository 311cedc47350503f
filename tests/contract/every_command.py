"""Run many commands in one process, in the working folder.

Print each result as JSON.

The first argument is a Python file that runs before the command line is imported; the second is a file of commands.
test_registered_parts.py uses this script in a separate process, where parts are installed that no other test may see.
"""

import contextlib
import io
import json
import runpy
import sys
import traceback
from pathlib import Path


def outcome_of(main, arguments):
    out, err, fault, code = io.StringIO(), io.StringIO(), "", 0
    sys.argv = ["reidsim", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        except Exception:
            code, fault = 1, traceback.format_exc()
    return {"code": code, "out": out.getvalue(), "err": err.getvalue(), "fault": fault}


if __name__ == "__main__":
    before, commands = map(Path, sys.argv[1:])
    runpy.run_path(str(before))
    from reidsim.cli import main

    found = {line: outcome_of(main, line.split()) for line in commands.read_text().splitlines()}
    print(json.dumps(found))
