"""Largest deviation of computed from expected numbers in tests, as a plugin of pytest.

``PYTHONPATH=tools python -m pytest -n0 -p deviations FILES...`` runs test files and prints for each file the number of
passed tests, the numbers compared within a tolerance, and the largest deviation. ``docs/explanation/validation.md``
shows this output.

A deviation is absolute if the expected number is smaller than 1, otherwise relative. Failed comparisons are left out,
because a test may search for a number in a list. Strategies, attacks and counts must be equal and are not counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


class Deviations:
    """Collect the comparisons of each test file."""

    def __init__(self) -> None:
        self.file = ""
        self.passed: dict[str, int] = defaultdict(int)
        self.numbers: dict[str, int] = defaultdict(int)
        self.largest: dict[str, float] = defaultdict(float)

    def note(self, actual: Any, expected: Any) -> None:
        """Add numbers that agree within the tolerance of their test."""
        try:
            found, known = np.broadcast_arrays(np.asarray(actual, dtype=float), np.asarray(expected, dtype=float))
        except (TypeError, ValueError):
            return  # Text and None are compared exactly.
        finite = np.isfinite(found) & np.isfinite(known)
        found, known = found[finite], known[finite]
        self.numbers[self.file] += found.size
        deviation = np.abs(found - known) / np.maximum(1.0, np.abs(known))
        self.largest[self.file] = max(self.largest[self.file], float(deviation.max(initial=0.0)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Attribute the comparisons of a test, fixtures included, to its file."""
        self.file = item.nodeid.split("::")[0]
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the tests that passed."""
        self.passed[report.nodeid.split("::")[0]] += report.when == "call" and report.passed

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print a line for each file."""
        terminalreporter.write_sep("=", "largest deviations")
        for file in self.passed:
            line = f"{self.passed[file]:6,} tests {self.numbers[file]:12,} numbers {self.largest[file]:9.1e}  {file}"
            terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Note the comparisons of ``pytest.approx`` and ``numpy.testing.assert_allclose``."""
    deviations = Deviations()
    config.pluginmanager.register(deviations)
    # The class of a single expected number; sequences, mappings and arrays are compared through it.
    scalar: Any = type(pytest.approx(1.0))
    equals, allclose = scalar.__eq__, np.testing.assert_allclose

    def noted_equals(self: Any, actual: Any) -> bool:
        agrees = bool(equals(self, actual))
        # An array is compared element by element, each of which is noted.
        if agrees and np.ndim(actual) == 0:
            deviations.note(actual, self.expected)
        return agrees

    def noted_allclose(actual: Any, desired: Any, *args: Any, **options: Any) -> None:
        allclose(actual, desired, *args, **options)
        deviations.note(actual, desired)

    scalar.__eq__ = noted_equals
    np.testing.assert_allclose = noted_allclose
