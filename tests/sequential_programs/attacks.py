"""The attack of Xia et al. 2015, and random sequential attacks for hypothesis."""

from dataclasses import replace

from hypothesis import strategies as st

from reidsim.adversaries.sequential.attack import SequentialAttack

# Settings (a) and (c) of the paper's evaluation, section 7.2; the paper does not print the discount.
A = SequentialAttack(
    gain=8000, access_cost=100, exploit_cost=10, penalty=10000, detection_intercept=-4.59, prior=0.63, discount=0.9
)
C = replace(A, detection_slope=0.18)


def some(low, high):
    """Draw amounts that are often exactly the lower or the upper end."""
    return st.one_of(st.just(low), st.just(high), st.floats(low, high))


def small_attacks(**others):
    """Draw attacks on groups of a few people, without a limit on penalties."""
    return st.builds(
        SequentialAttack,
        gain=some(30.0, 100.0),
        access_cost=some(0.0, 5.0),
        link_cost=some(0.0, 3.0),
        exploit_cost=some(0.0, 2.0),
        penalty=some(0.0, 20.0),
        detection_intercept=st.floats(-5, 0),
        detection_slope=some(0.0, 1.0) | st.floats(-1, 0),
        prior=some(0.1, 1.0),
        discount=some(0.9, 1.0) | st.floats(0.5, 1),
        penalty_timing=st.sampled_from(["next-state", "at-action"]),
        **others,
    )


def shares_of(gain, most):
    """Draw zero, or an amount up to `most` times the gain."""
    return st.one_of(st.just(0.0), st.floats(1e-3, most).map(lambda share: share * gain))


any_slope = st.one_of(st.just(0.0), st.floats(-0.7, 0.7))


@st.composite
def attacks(draw, slopes=any_slope, limits=(None, 1, 2, 3), dearest=0.1):
    """Draw attacks with any limit on penalties; costs are up to `dearest` times the gain."""
    gain = draw(st.sampled_from([1.0, 100.0, 8000.0]))
    return SequentialAttack(
        gain=gain,
        access_cost=draw(shares_of(gain, 2 * dearest)),
        link_cost=draw(shares_of(gain, dearest)),
        exploit_cost=draw(shares_of(gain, dearest)),
        penalty=draw(shares_of(gain, 30 * dearest)),
        max_penalties=draw(st.sampled_from(limits)),
        detection_intercept=draw(st.floats(-6, 1)),
        detection_slope=draw(slopes),
        prior=draw(st.one_of(st.just(1.0), st.floats(0.05, 1))),
        discount=draw(st.one_of(st.just(1.0), st.floats(0.5, 1))),
        penalty_timing=draw(st.sampled_from(["next-state", "at-action"])),
        detection_ends_attack=draw(st.integers(0, 3)) == 0,
    )
