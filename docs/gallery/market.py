"""A market for data: three kinds of adversary, ten rounds, a publisher who learns."""

import reidsim

result = reidsim.run("market")
figure = result.plot("rounds")
figure.savefig("market.png")
