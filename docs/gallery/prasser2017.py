"""Full-domain generalization with suppression: Adult records in Tennessee."""

import reidsim

result = reidsim.run("prasser2017")
figure = result.plot("payout-front")
figure.savefig("prasser2017.png")
