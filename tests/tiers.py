"""The two test tiers: number of examples per property, and cases of each tier."""

from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

Case = TypeVar("Case")

FAST_EXAMPLES = 10
DEEP_EXAMPLES = 60  # for tests that name no number

# The first call of a compiled function takes seconds, so examples have no deadline. The examples are the same in every
# run.
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
    """Load the tier's profile with at most `most` examples.

    Call this before test modules are imported, because they read the settings.
    """
    global _chosen, _most
    _chosen, _most = "deep" if deep else "fast", most
    if deep and most is not None:
        settings.register_profile("fewer", settings.get_profile("deep"), max_examples=min(most, DEEP_EXAMPLES))
    settings.load_profile("fewer" if deep and most is not None else _chosen)


def examples(number: int, *, fast: int = FAST_EXAMPLES) -> settings:
    """Return a property's settings: `number` examples in the deep tier, at most `fast` in the fast one.

    `fast` is lower for properties whose examples take more than a twentieth of a second.
    """
    most = fast if _chosen == "fast" else number if _most is None else _most
    return settings(max_examples=min(number, most))


def points(number: int) -> int:
    """Return the number of fault positions.

    There are fewer positions if the number of examples is limited.
    """
    return number if _most is None else min(number, max(3, number * _most // 100))


def cases(everything: Iterable[Case], few: Iterable[Case]) -> list[Any]:
    """Return a test's parameters: every case in the deep tier, a few in the fast one.

    A case that is a tuple holds the values of several arguments. Cases of the deep tier alone carry its mark. If the
    number of examples is limited, the deep tier also keeps only some of its additional cases.
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
    if hasattr(case, "marks"):  # from pytest.param
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.deep), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.deep)
