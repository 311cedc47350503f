"""One world: a broker, a marketer and a stalker against data subjects who mask."""

import reidsim

result = reidsim.run("one-world")
figure = result.plot("through")
figure.savefig("one-world.png")
