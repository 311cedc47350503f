"""Plan a sequential attack: attacked group sizes and number of exploits."""

import reidsim

planner = reidsim.Sequential(
    gain=8000, cost=10, access_cost=100, penalty=10000, max_penalties=1, prior=0.63
)  # fmt: skip
known = planner.plan([1, 20, 47, 48])
print(known.accesses.tolist(), known.reidentified.round(2).tolist())
shares = [size / 0.63 / 9_535_477 for size in (1, 20, 47, 48)]
unknown = planner.plan([1, 20, 47, 48], registry_size=6_018_999, match_probability=shares)
print(unknown.accesses.tolist(), unknown.reidentified.round(2).tolist())
