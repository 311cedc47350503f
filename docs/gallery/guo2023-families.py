"""Who joins a genomic database, among families of a genealogy."""

import reidsim

result = reidsim.run("guo2023-families", overrides={"figures.equilibria.draws": 100})
figure = result.plot("survival")
figure.savefig("guo2023-families.png")
