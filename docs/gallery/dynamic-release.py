"""Cases of an epidemic, released day by day."""

import reidsim

result = reidsim.run("dynamic-release")
figure = result.plot("levels")
figure.savefig("dynamic-release.png")
