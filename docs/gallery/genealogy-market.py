"""Two adversaries with different resources against data subjects who mask."""

import reidsim

result = reidsim.run("genealogy-market")
figure = result.plot("rounds")
figure.savefig("genealogy-market.png")
