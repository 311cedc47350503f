"""Who joins a genomic database in which relatives expose each other."""

import reidsim

result = reidsim.run("guo2023")
figure = result.plot("best-replies")
figure.savefig("guo2023.png")
