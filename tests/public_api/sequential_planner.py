"""Plan a sequential attack: attacked group sizes and number of exploits."""

import numpy as np

import reidsim

attack = reidsim.SequentialAttack(
    gain=8000, exploit_cost=10, access_cost=100, penalty=10000, max_penalties=1, prior=0.63
)  # fmt: skip
sizes = np.array([1, 20, 47, 48])
known = reidsim.plan_known(attack, sizes)
print(known.accesses.tolist(), known.reidentified.round(2).tolist())
belief = reidsim.BinomialBelief(registry_size=6_018_999, match_probability=sizes / 0.63 / 9_535_477)
unknown = reidsim.plan_unknown(attack, sizes, belief)
print(unknown.accesses.tolist(), unknown.reidentified.round(2).tolist())
