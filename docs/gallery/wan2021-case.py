"""Case study: one subject, a genealogy and a registry from files."""

import reidsim

result = reidsim.run(
    "wan2021-case",
    overrides={"subjects.policies": ["no-protection", "demographics-only", "opt-in", "masking"], "figures": {}},
)
figure = result.plot("effectiveness")
figure.savefig("wan2021-case.png")
