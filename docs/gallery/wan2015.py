"""Record-level re-identification game: Adult records in Tennessee."""

import reidsim

result = reidsim.run("wan2015")
figure = result.plot("payoff-differences")
figure.savefig("wan2015.png")
