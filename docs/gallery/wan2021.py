"""Masking game against a multistage attack: genealogy to surname, surname to identity."""

import reidsim

result = reidsim.run("wan2021", overrides={"replications": 1})
figure = result.plot("effectiveness")
figure.savefig("wan2021.png")
