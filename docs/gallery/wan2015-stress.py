"""Uncertain payoff parameters: Adult records in Tennessee under a stress test."""

import reidsim

result = reidsim.stress(
    "wan2015-stress", overrides={"uncertainty.samples": 32, "stress": {"robustness": {"quantile": 0.1}}}
)
figure = result.plot("regrets")
figure.savefig("wan2015-stress.png")
