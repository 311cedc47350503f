"""A sequential adversary and a publisher who best-responds, five rounds."""

import reidsim

result = reidsim.run("sequential-publisher")
figure = result.plot("rounds")
figure.savefig("sequential-publisher.png")
