"""Plan under any explicit belief on group sizes; `plan_unknown` is binomial."""

from reidsim.adversaries.sequential import planning
from reidsim.adversaries.sequential.attack import checked_group_sizes


def plan_distribution(attack, group_sizes, possible, probabilities):
    """Return the plan for true group sizes, given one row of probabilities per record.

    `probabilities` has shape (n, n_possible): the belief about each record over the possible sizes.
    """
    sizes, held = checked_group_sizes(group_sizes), checked_group_sizes(possible)
    expected = probabilities @ planning.value_after_access(attack, planning._values(attack, held))
    worth = attack.discount * expected - attack.access_cost
    return planning._plan(attack, sizes, planning._values(attack, sizes), worth, None)
