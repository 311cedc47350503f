"""Sequential re-identification attack: Adult records against North Carolina's voter list."""

import reidsim

result = reidsim.run("xia2015", overrides={"figures.sequential": {"largest_group": 60}})
figure = result.plot("risk-by-group-size")
figure.savefig("xia2015.png")
