"""The region of likely parameters and its extremes, for a simple likelihood."""

import pytest

from reidsim.linkage.uniqueness.likely_region import LikelyRegion


@pytest.mark.parametrize("best", [1.5, 1.0])
def test_the_region_ends_where_the_likelihood_has_fallen_so_far(best):
    """-(x - best)^2 falls by .64 at a distance of .8, inside or beyond the grid."""
    region = LikelyRegion(lambda x: -((x - best) ** 2), lambda x, floor: (x, x), [0.0, 1.0, 2.0, 3.0], best, 0.64)
    assert region.extremes(lambda outer, inner: outer) == pytest.approx((best - 0.8, best + 0.8))
    short = LikelyRegion(lambda x: -((x - best) ** 2), lambda x, floor: (x, x), [0.5, 2.0], best, 4.0)
    assert short.extremes(lambda outer, inner: outer) == pytest.approx((0.5, 2.0))


@pytest.mark.parametrize("at", [0.31, 0.001, 0.999, 0.5])
def test_extremes_are_found_inside_too_and_over_both_ends_of_the_inner_parameter(at):
    region = LikelyRegion(lambda x: -((x - 0.5) ** 2), lambda x, floor: (-1.0, 2.0), [0.0, 1.0], 0.5, 1.0)
    lowest, highest = region.extremes(lambda outer, inner: (outer - at) ** 2 + inner)
    assert lowest == pytest.approx(-1.0, abs=1e-9)
    assert highest == pytest.approx(2.0 + max(at, 1 - at) ** 2, abs=1e-9)
