"""Payouts while loss and gain grow: full-domain generalization of Adult records in Tennessee."""

import reidsim

result = reidsim.run(
    "prasser2017-sweep",
    overrides={
        "sweep.values": {
            "economics.loss": {"from": 0, "to": 2000, "points": 9},
            "beliefs.risk": ["prosecutor", "journalist"],
        }
    },
)
figure = result.plot("payout-curves-loss")
figure.savefig("prasser2017-sweep.png")
