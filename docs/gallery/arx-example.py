"""Full-domain generalization of the example data of ARX."""

import reidsim

result = reidsim.run("arx-example", overrides={"publisher.policies": ["basic", "no-attack"]})
figure = result.plot("payout-front")
figure.savefig("arx-example.png")
