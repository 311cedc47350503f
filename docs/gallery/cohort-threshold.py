"""A cohort against the risk that is accepted."""

import reidsim

result = reidsim.run("cohort-threshold")
figure = result.plot("cohort-groups")
figure.savefig("cohort-threshold.png")
