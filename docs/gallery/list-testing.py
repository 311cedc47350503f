"""An adversary who tests lists: Adult records in Tennessee."""

import reidsim

result = reidsim.run("list-testing")
figure = result.plot("payoff-differences")
figure.savefig("list-testing.png")
