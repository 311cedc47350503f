"""List known vulnerabilities of the installed packages, and report whether any package was audited.

    python tools/audit.py

Runs `pip-audit` (`pip install pip-audit`), which asks PyPI. Behind a mirror that does not answer for vulnerabilities it
skips every package and still ends with code 0; this script ends with 3. Vulnerabilities give 1, none give 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

NOTHING_AUDITED = 3


def verdict(dependencies: Sequence[Mapping[str, Any]]) -> tuple[int, list[str]]:
    """Return the exit code and the lines to print.

    Parameters
    ----------
    dependencies : sequence of dict
        As `pip-audit --format json` lists them: name, and either version and vulnerabilities or why it was skipped.
    """
    audited = [each for each in dependencies if "vulns" in each]
    lines = [
        f"{each['name']} {each['version']}: {found['id']}, fixed in {', '.join(found['fix_versions']) or 'no version'}"
        for each in audited
        for found in each["vulns"]
    ]
    found = len(lines)
    lines += [f"skipped {each['name']}: {each['skip_reason']}" for each in dependencies if "vulns" not in each]
    lines.append(f"{len(audited)} of {len(dependencies)} packages audited, {found} vulnerabilities")
    return (1 if found else 0 if audited else NOTHING_AUDITED), lines


def main() -> int:
    """Audit the environment of this Python."""
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this Python
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        print(f"nothing was audited: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return NOTHING_AUDITED
    code, lines = verdict(dependencies)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
