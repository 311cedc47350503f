"""What a run about cases over time was asked, in words."""

from __future__ import annotations

from collections.abc import Iterator

from reidsim.scenarios.asked import Stored, adversaries, by_generalization, plan, section
from reidsim.wording import Code, Sentence, codes, number_text


def sentences(run: Stored) -> Iterator[Sentence]:
    """Yield what is released when, among whom the adversary looks, and at what prices."""
    release, names = section(run.content, "release"), codes(list(section(run.content, "attributes")))
    origin = (" of ", Code(str(release["path"]))) if "path" in release else (" drawn from the population",)
    cases, periods = run.manifest.get("cases"), run.manifest.get("periods")
    size = f"{number_text(cases)} cases" if cases else "Cases"
    over = f" are released over {number_text(periods)} periods" if periods else " are released period by period"
    held = "all cases so far" if release.get("table") == "cumulative" else "its own cases"
    yield (size, *origin, over, f"; each table, with {held}, has one generalization.")
    yield ("Quasi-identifiers: ", *names, ".")
    if "voters" in run.content:
        recipe = str(section(run.content, "voters").get("recipe"))
        yield ("The adversary looks records up in the list ", Code(recipe), ".")
    yield from adversaries(run, plan)
    yield from by_generalization(run, "publisher")
