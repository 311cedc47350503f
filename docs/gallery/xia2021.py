"""Voter lists and Twitter against the worst case."""

import reidsim

result = reidsim.run("xia2021", overrides={"release.sizes": [1000, 20000], "release.samples": 1, "figures": {}})
figure = result.plot("person-risks")
figure.savefig("xia2021.png")
