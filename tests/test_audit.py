"""What `tools/audit.py` makes of what pip-audit says: nothing looked up is not nothing found."""

import importlib
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1] / "tools"
SKIPPED = {"name": "a", "skip_reason": "Dependency not found on PyPI"}
CLEAN = {"name": "b", "version": "1", "vulns": []}
FOUND = {"name": "c", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"], "aliases": []}]}


@pytest.mark.parametrize(
    ("dependencies", "code", "last"),
    [
        ([SKIPPED, SKIPPED], 3, "0 of 2 packages audited, 0 vulnerabilities"),
        ([], 3, "0 of 0 packages audited, 0 vulnerabilities"),
        ([SKIPPED, CLEAN], 0, "1 of 2 packages audited, 0 vulnerabilities"),
        ([FOUND, CLEAN, SKIPPED], 1, "2 of 3 packages audited, 1 vulnerabilities"),
    ],
)
def test_what_was_skipped_is_not_free_of_vulnerabilities(monkeypatch, dependencies, code, last):
    monkeypatch.syspath_prepend(SCRIPTS)
    found, lines = importlib.import_module("audit").verdict(dependencies)
    assert (found, lines[-1]) == (code, last)
    assert ("c 2: PYSEC-1, fixed in 3" in lines) == (FOUND in dependencies)
