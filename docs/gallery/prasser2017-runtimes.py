"""Run times while loss and gain grow: full-domain generalization of Adult records in Tennessee."""

import reidsim

result = reidsim.run(
    "prasser2017-runtimes",
    overrides={
        "replications": 5,
        "sweep.values": {"economics.loss": {"from": 0, "to": 2000, "points": 5}, "publisher.prune": [True, False]},
    },
)
figure = result.plot("full-domain-runtimes")
figure.savefig("prasser2017-runtimes.png")
