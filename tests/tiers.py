"""The suite's two tiers: how many examples a property is tried on in each, which cases, and which tier is run."""

from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

Case = TypeVar("Case")

FAST_EXAMPLES = 10
DEEP_EXAMPLES = 60  # where a test names no number

# The first call of a compiled function takes seconds, so examples have no deadline; the same examples every time.
for _name, _number in (("fast", FAST_EXAMPLES), ("deep", DEEP_EXAMPLES)):
    settings.register_profile(
        _name,
        deadline=None,
        derandomize=True,
        database=None,
        max_examples=_number,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )

_chosen = "fast"
_most: int | None = None


def choose(*, deep: bool, most: int | None = None) -> None:
    """Load the tier's profile, with at most so many examples; before test modules are imported, which ask for it."""
    global _chosen, _most
    _chosen, _most = "deep" if deep else "fast", most
    if deep and most is not None:
        settings.register_profile("fewer", settings.get_profile("deep"), max_examples=min(most, DEEP_EXAMPLES))
    settings.load_profile("fewer" if deep and most is not None else _chosen)


def examples(number: int) -> settings:
    """Settings of a property that is tried on `number` examples in the deep tier, on at most ten in the fast one."""
    most = FAST_EXAMPLES if _chosen == "fast" else number if _most is None else _most
    return settings(max_examples=min(number, most))


def points(number: int) -> int:
    """Return at how many moments or places a fault strikes: fewer, with fewer examples."""
    return number if _most is None else min(number, max(3, number * _most // 100))


def cases(everything: Iterable[Case], few: Iterable[Case]) -> list[Any]:
    """Return what a test is parametrised by: every case in the deep tier, some of them in the fast one.

    With fewer examples, some of the cases that the fast tier leaves out. A case that is a tuple holds the values of
    several arguments. Those of the deep tier alone are marked so.
    """
    everything, few = list(everything), list(few)
    assert few, "the fast tier would be without a case"
    assert all(case in everything for case in few), "the fast tier has a case that the deep one has not"
    if _chosen == "fast":
        return few
    others = [case for case in everything if case not in few]
    left_out = [] if _most is None else [case for place, case in enumerate(others) if place % max(1, 100 // _most)]
    return [case if case in few else _deep(case) for case in everything if case not in left_out]


def _deep(case: Any) -> Any:
    if hasattr(case, "marks"):  # what pytest.param made
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.deep), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.deep)
