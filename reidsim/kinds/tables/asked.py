"""What a run about a table was asked, in words."""

from __future__ import annotations

from collections.abc import Iterator

from reidsim.scenarios.adversary_defaults import spelled_out
from reidsim.scenarios.asked import Stored, adversaries, by_generalization, plan, section
from reidsim.wording import Code, Sentence, codes, number_text


def sentences(run: Stored) -> Iterator[Sentence]:
    """Yield what is shared, among whom, against whom, at what prices; of results of former versions, too."""
    former, publisher = run.content.get("game"), section(run.content, "publisher")
    one_for_all = former == "full-domain" or publisher.get("unit") == "table"
    strategies, nodes = run.manifest.get("strategies"), run.manifest.get("nodes")
    if one_for_all:
        ways = f"one of {number_text(nodes)} generalizations for all of them, with records left out" if nodes else ""
    else:
        ways = f"each in one of {number_text(strategies)} generalizations" if isinstance(strategies, int) else ""
    yield _shared(run, ways)
    yield from _group(run, default="prosecutor" if former == "full-domain" else "journalist")
    yield from adversaries(run, plan)
    yield from by_generalization(run, "publisher")


def _shared(run: Stored, ways: str) -> Sentence:
    release = section(run.content, "release")
    origin = release.get("path") or release.get("table")
    number = f"{run.n_records:,} records" if run.n_records else "Records"
    if run.units[0] == "person":
        number += f" of {number_text(run.n_counted)} people"
    come = (" from ", Code(str(origin))) if origin else ()
    names = codes(list(section(run.content, "attributes")))
    return (f"{number}", *come, " are to be shared", f", {ways}" if ways else "", ". Quasi-identifiers: ", *names, ".")


def _group(run: Stored, default: str = "journalist") -> Iterator[Sentence]:
    if run.units[0] == "person":
        yield (
            "All records of a person share one generalization. Groups are counted in people, and a person is "
            "attacked by the record with the smallest group.",
        )
    several = section(spelled_out(run.content), "adversaries")
    each = [section(several, name) for name in several] or [section(run.content, "adversary")]
    risks = {adversary.get("risk", default) for adversary in each}
    people, recipe = run.manifest.get("people"), section(run.content, "population").get("recipe")
    directions = {adversary.get("direction", "record") for adversary in each}
    if "person" in directions:
        yield ("The adversary looks a person up: it picks one of the shared rows that fit the person's true values.",)
        return
    if "both" in directions:
        yield (
            "The adversary asks who a shared row is, or looks a person up and picks one of the shared rows that fit "
            "the person's true values, whichever succeeds more.",
        )
    if len(risks) > 1 and "prosecutor" in risks:
        yield (
            "Some adversaries know who is in the file: their group of a record is the records that fit its release; "
            "for the others it is the people of the population who fit it.",
        )
    elif "sample" in risks:
        yield (
            "The group of a record is the people of the population who fit its release, as estimated from the records "
            "and their sampling weights.",
        )
    elif risks == {"prosecutor"}:
        yield ("The adversary knows who is in the file: the group of a record is the records that fit its release.",)
    elif recipe:
        yield (
            "The group of a record is the people of the population ",
            Code(str(recipe)),
            f" ({number_text(people)} people) who fit its release." if people else " who fit its release.",
        )
