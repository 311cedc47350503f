"""Voter list or Twitter: two adversaries with partial knowledge against the lattice."""

import reidsim
from reidsim.kinds.tables.figures import payoff_difference_curves

result = reidsim.run("voter-vs-twitter")
figure = payoff_difference_curves(result.records, "safe-harbor")
figure.savefig("voter-vs-twitter.png")
