"""The two tiers: what each of them tries, and that no test decides for itself."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import tiers
from hypothesis import settings

TESTS = Path(__file__).resolve().parent


def test_the_fast_tier_tries_ten_examples_and_the_deep_one_all_of_them(pytestconfig):
    deep, most = pytestconfig.getoption("deep"), pytestconfig.getoption("most_examples") or 300
    assert tiers.examples(300).max_examples == (most if deep else 10)
    assert tiers.examples(4).max_examples == 4
    assert settings.default.max_examples == (min(most, 60) if deep else 10)


def test_no_test_fixes_its_number_of_examples():
    modules = [path for path in TESTS.rglob("*.py") if path.name not in {"tiers.py", Path(__file__).name}]
    assert len(modules) > 150
    fixing = [path for path in modules if re.search(r"max_examples", path.read_text(encoding="utf-8"))]
    assert fixing == []
    assert sum("@examples(" in path.read_text(encoding="utf-8") for path in modules) > 40


@pytest.mark.deep
@pytest.mark.parametrize(
    "category", [DeprecationWarning, PendingDeprecationWarning, FutureWarning, np.exceptions.VisibleDeprecationWarning]
)
def test_deprecations_are_errors_in_the_deep_tier(category):
    with pytest.raises(category, match="goes"):
        warnings.warn("this goes", category, stacklevel=1)
