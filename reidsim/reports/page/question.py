"""What a run was asked, in words: what is shared, among whom, against whom, at what prices, by which policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reidsim.reports.page.blocks import Block, Bullets, Code, Inline, paragraph, shortened
from reidsim.reports.page.number_text import number_text
from reidsim.reports.page.stored_run import StoredRun
from reidsim.scenarios.varied_gain import GAIN, LOSS, gain_goes_with_loss

Sentence = tuple[Inline, ...]
# Sections told here; others are named, and shown with the assumptions.
_TOLD = {
    "title", "source", "seed", "game", "population", "release", "targets", "resources", "attributes",
    "economics", "beliefs", "adversary", "adversaries", "publisher", "subjects", "safe_harbor", "knowledge",
    "uniqueness", "network", "expectation", "attack", "trees", "figures",
    "replications", "releases", "agents", "uncertainty", "sweep", "stress",
}  # fmt: skip
_STAGES = {
    "infer-surname": "infers the surname from genetic markers",
    "infer-by-linkage": "infers an attribute",
    "identify": "names one of the people who match",
}


def question_blocks(run: StoredRun) -> Iterator[Block]:
    """Yield what was asked."""
    content = run.content
    told = {
        "tables": _full_domain if run.is_of_one_form else _record_level,
        "record-level": _record_level,
        "full-domain": _full_domain,
        "masking": _masking,
        "risk": _risk,
    }.get(run.game)
    sentences: list[Sentence] = list(told(run)) if told else [("A study of the kind ", Code(run.game), ".")]
    yield Bullets((*sentences, *_design(content)))
    names = run.runs["policy"].astype(str).unique() if "policy" in run.runs else ()
    words = {name: run.policies[name].words for name in names if name in run.policies}
    if words:
        yield paragraph("Policies, that is, ways in which to decide:")
        yield Bullets(tuple((Code(name), f": {meaning}.") for name, meaning in words.items()))


def _record_level(run: StoredRun) -> Iterator[Sentence]:
    yield _shared(run, f"each in one of {number_text(run.manifest['strategies'])} forms" if _has_forms(run) else "")
    yield from _group(run)
    yield from _adversary(run, _plan)
    yield from _publisher(run, "publisher")


def _full_domain(run: StoredRun) -> Iterator[Sentence]:
    nodes = run.manifest.get("nodes")
    ways = f"one of {number_text(nodes)} forms for all of them, with records left out" if nodes else ""
    yield _shared(run, ways)
    yield from _group(run, default="prosecutor" if run.game == "full-domain" else "journalist")
    yield from _adversary(run, _plan)
    yield from _publisher(run, "publisher")


def _masking(run: StoredRun) -> Iterator[Sentence]:
    content = run.content
    attributes = _names(_section(content, "subjects").get("attributes", ()))
    number = f"{run.n_records:,} data subjects decide" if run.n_records else "Data subjects decide"
    yield (f"{number}, each alone, which of these attributes to share: ", *attributes, ".")
    people = run.manifest.get("people")
    recipe = _section(content, "population").get("recipe")
    if isinstance(recipe, str):
        yield (f"They are drawn from {number_text(people)} people of the population ", Code(recipe), ".")
    else:
        yield ("They and what the adversary holds are read from files.",)
    held = run.manifest.get("resources")
    if isinstance(held, Mapping) and held:
        parts: list[Inline] = ["The adversary holds "]
        for place, (name, rows) in enumerate(held.items()):
            parts += [", " if place else "", Code(str(name)), f" ({number_text(rows)} rows)"]
        yield (*parts, ".")
    yield from _adversary(run, _attack)
    yield from _prices(run, "subject")


def _attack(run: StoredRun, adversary: Mapping[str, Any]) -> Iterator[Sentence]:
    stages = adversary.get("stages")
    for place, stage in enumerate(stages if isinstance(stages, list) else (), start=1):
        if isinstance(stage, Mapping):
            does = _STAGES.get(str(stage.get("stage")), str(stage.get("stage")))
            yield (f"Stage {place} of the attack: it {does}, with ", Code(str(stage.get("resource"))), ".")
    yield from _knowledge(adversary)
    if "weight" in adversary:
        gain, cost = _gain_and_cost(run, adversary)
        yield (f"It gains {gain} and pays {cost} for an attack.",)


def _gain_and_cost(run: StoredRun, adversary: Mapping[str, Any]) -> tuple[str, str]:
    """Return in words what an adversary gains and pays: its own amounts, else those of the economics."""
    gain = number_text(adversary["gain"]) if "gain" in adversary else _gain(run)
    return gain, number_text(adversary.get("cost", _section(run.content, "economics").get("cost")))


def _risk(run: StoredRun) -> Iterator[Sentence]:
    content = run.content
    release = _section(content, "release")
    people = run.manifest.get("people")
    if "path" in release:
        yield ("How identifiable are the records of ", Code(str(release["path"])), "?")
    else:
        sizes = ", ".join(number_text(size) for size in release.get("sizes", ()))
        of = f" of {number_text(people)} people" if people else ""
        samples = number_text(release.get("samples", 1))
        yield (f"How identifiable are random samples{of}: {sizes} records, {samples} of each size?",)
    attributes = run.manifest.get("attributes")
    if isinstance(attributes, list):
        yield ("Attributes released: ", *_names(attributes), ".")
    knowledge = _section(content, "knowledge")
    yield (
        "What the adversary knows: ",
        *_names([f"{name}" for name in knowledge]),
        "; each is compared with the worst case, in which it knows every attribute of everybody.",
    )
    uniqueness = _section(content, "uniqueness")
    if uniqueness:
        value = f" {number_text(uniqueness['value'])}" if "value" in uniqueness else ""
        method = str(uniqueness.get("method", "pitman"))
        yield ("Whether who is unique among the records is unique in the population: ", Code(method), f"{value}.")


def _shared(run: StoredRun, ways: str) -> Sentence:
    release = _section(run.content, "release")
    origin = release.get("path") or release.get("table")
    number = f"{run.n_records:,} records" if run.n_records else "Records"
    if run.units[0] == "person":
        number += f" of {number_text(run.n_counted)} people"
    come = (" of ", Code(str(origin))) if origin else ()
    names = _names(list(_section(run.content, "attributes")))
    return (f"{number}", *come, " are to be shared", f", {ways}" if ways else "", ". Quasi-identifiers: ", *names, ".")


def _group(run: StoredRun, default: str = "journalist") -> Iterator[Sentence]:
    if run.units[0] == "person":
        yield (
            "All records of a person are shared in one form. Groups are counted in people, and a person is found by "
            "the record that hides among the fewest of them.",
        )
    several = _section(run.content, "adversaries")
    adversaries = [_section(several, name) for name in several] or [_section(run.content, "adversary")]
    risks = {adversary.get("risk", default) for adversary in adversaries}
    people, recipe = run.manifest.get("people"), _section(run.content, "population").get("recipe")
    directions = {adversary.get("direction", "record") for adversary in adversaries}
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
            "Some adversaries know who is in the file: from them a record hides among the records that fit its shared "
            "form, from the others among the people of the population who do.",
        )
    elif "sample" in risks:
        yield (
            "A record hides among the people of the population who fit its shared form, whose number is estimated from "
            "the records and their sampling weights.",
        )
    elif risks == {"prosecutor"}:
        yield ("A record hides among the records that fit its shared form: the adversary knows who is in the file.",)
    elif recipe:
        yield (
            "A record hides among the people of the population ",
            Code(str(recipe)),
            f" ({number_text(people)} people) who fit its shared form." if people else " who fit its shared form.",
        )


def _adversary(
    run: StoredRun, plan: Callable[[StoredRun, Mapping[str, Any]], Iterator[Sentence]]
) -> Iterator[Sentence]:
    """Yield what each adversary does, in the sentences of `plan`."""
    several = _section(run.content, "adversaries")
    if several:
        yield ("A record meets one of several adversaries; payoffs, attacks and risk are expectations over them.",)
    for name in several:
        section = _section(several, name)
        yield ("With probability ", number_text(section.get("weight")), " it is ", Code(str(name)), ".")
        yield from plan(run, section)
    if not several:
        yield from plan(run, _section(run.content, "adversary"))


def _plan(run: StoredRun, adversary: Mapping[str, Any]) -> Iterator[Sentence]:
    if _section(_section(run.content, "agents"), "types"):
        yield (
            "Adversaries of several types come, each with prices and plans of its own where the assumptions below give "
            "them; where they do not, what follows holds.",
        )
    gain, cost = _gain_and_cost(run, adversary)
    if adversary.get("planner") == "fmdp":
        plan = _section(adversary, "sequential")
        registry = str(plan.get("registry", "everybody"))
        yield (
            "The adversary may buy access to the registry ",
            Code(registry),
            f" for {number_text(plan.get('access_cost', 0))} and then act against one candidate after the other. A hit "
            f"gains {gain}, an exploit costs {cost}, a detected one {number_text(plan.get('penalty', 0))}. It goes on "
            "as long as that pays.",
        )
    else:
        yield (
            f"The adversary attacks a record once or not at all, by naming one of the people who fit. Success gains "
            f"{gain}, an attempt costs {cost}. It attacks if the expected gain exceeds the cost.",
        )
    yield from _knowledge(adversary)


def _knowledge(adversary: Mapping[str, Any]) -> Iterator[Sentence]:
    known = adversary.get("knowledge")
    if isinstance(known, str):
        yield ("It knows of people only what the recipe ", Code(known), " tells.")


def _gain(run: StoredRun) -> str:
    """Return the gain of the economics, in words where it differs from point to point."""
    economics = _section(run.content, "economics")
    stated = number_text(economics.get("gain", economics.get("loss")))
    if not gain_goes_with_loss(run.content, _varied_keys(run.content)):
        return stated
    return f"as much as the loss of each point ({stated} in the scenario itself)"


def _publisher(run: StoredRun, defender: str) -> Iterator[Sentence]:
    economics = _section(run.content, "economics")
    yield (
        f"A record shared as it is brings the {defender} {number_text(economics.get('benefit'))}, less the more it is "
        f"generalized. A re-identified record costs {number_text(economics.get('loss'))}.",
    )
    yield from _beliefs(run, defender)


def _prices(run: StoredRun, defender: str) -> Iterator[Sentence]:
    economics = _section(run.content, "economics")
    gain, cost = _gain_and_cost(run, {})
    yield (
        f"Sharing everything brings a {defender} {number_text(economics.get('benefit'))}; being re-identified costs "
        f"{number_text(economics.get('loss'))}."
        # Of several each has been told.
        + ("" if "adversaries" in run.content else f" The adversary gains {gain} and pays {cost} for an attack."),
    )
    yield from _beliefs(run, defender)


def _beliefs(run: StoredRun, defender: str) -> Iterator[Sentence]:
    beliefs = _section(run.content, "beliefs")
    if beliefs:
        held = ", ".join(f"{key} {_plain(value)}" for key, value in beliefs.items())
        yield (f"The {defender} plans with other beliefs ({held}); payoffs are the true ones.",)


def _design(content: Mapping[str, Any]) -> Iterator[Sentence]:
    replications = content.get("replications", 1)
    if isinstance(replications, int) and replications > 1:
        yield (f"Everything that is drawn is drawn {replications:,} times; figures are means over them.",)
    yield from _releases(_section(content, "releases"))
    yield from _agents(_section(content, "agents"))
    yield from _varied(
        "These values are not known for sure: ", _section(_section(content, "uncertainty"), "parameters")
    )
    yield from _varied(
        "These values were varied, whatever is said of them above: ", _section(_section(content, "sweep"), "values")
    )
    if gain_goes_with_loss(content, _varied_keys(content)):
        yield (Code(GAIN), " is not stated: at each point it was ", Code(LOSS), ".")
    others = [key for key in content if key not in _TOLD]
    if others:
        yield ("The scenario also sets ", *_names(others), ": see the assumptions and the scenario below.")


def _varied_keys(content: Mapping[str, Any]) -> list[str]:
    uncertain = _section(_section(content, "uncertainty"), "parameters")
    return [*uncertain, *_section(_section(content, "sweep"), "values")]


def _releases(releases: Mapping[str, Any]) -> Iterator[Sentence]:
    if not releases:
        return
    parts: list[Inline] = ["The records are released several times, each from the wave in column "]
    parts += [Code(str(releases.get("enters"))), " on"]
    if releases.get("leaves"):
        parts += [" until that in column ", Code(str(releases["leaves"]))]
    yield (*parts, ".")


def _agents(agents: Mapping[str, Any]) -> Iterator[Sentence]:
    if not agents:
        return
    rounds = number_text(agents.get("rounds", 1))
    yield (f"Those who share and adversaries meet in {rounds} round{'' if rounds == '1' else 's'}.",)
    types = _section(agents, "types")
    if types:
        parts: list[Inline] = ["Types of adversary, with their weights: "]
        for place, (name, kind) in enumerate(types.items()):
            weight = kind.get("weight", 1.0) if isinstance(kind, Mapping) else 1.0
            parts += [", " if place else "", Code(str(name)), f" {number_text(weight)}"]
        yield (*parts, ".")


def _varied(start: str, values: Mapping[str, Any]) -> Iterator[Sentence]:
    if not values:
        return
    parts: list[Inline] = [start]
    for place, (key, value) in enumerate(values.items()):
        parts += ["; " if place else "", Code(str(key)), f" ({shortened(_listed(value))})"]
    yield (*parts, ".")


def _listed(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_plain(entry) for entry in value)
    return _plain(value)


def _has_forms(run: StoredRun) -> bool:
    return isinstance(run.manifest.get("strategies"), int)


def _section(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = content.get(key)
    return value if isinstance(value, Mapping) else {}


def _names(names: Sequence[object]) -> list[Inline]:
    """Return names as code with commas between them."""
    parts: list[Inline] = []
    for place, name in enumerate(names):
        parts += [", ", Code(str(name))] if place else [Code(str(name))]
    return parts


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} {_plain(entry)}" for key, entry in value.items()) + "}"
    return number_text(value)
