"""Presentation of table scenarios: report sentences and browser controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from reidsim.kinds.tables.policy import policy_named
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.linkage.sensitive_values import AttributeLimits
from reidsim.scenarios.people import key_columns
from reidsim.scenarios.presentation import Choice, Control, Presentation, amount_slider
from reidsim.scenarios.report_sentences import adversaries, by_generalization, plan, section
from reidsim.scenarios.schema import spelled_out
from reidsim.wording import Code, Sentence, codes, number_text


class TablesPresentation(Presentation):
    """Report sentences and browser controls of the kind of tables; see `Presentation`."""

    drawn_by = "reidsim.kinds.tables.figures.sweeps"

    def asked(self, run: Any) -> Iterator[Sentence]:
        """Yield sentences on release, group sizes, adversaries and other inputs of a run."""
        content = run.content
        names, release = codes(list(section(content, "attributes"))), section(content, "release")
        origin = release.get("path") or release.get("table")
        come = (" from ", Code(str(origin))) if origin else ()
        number = f"{run.n_records:,} records" if run.n_records else "Records"
        if run.units[0] == "person":
            number += f" of {number_text(run.n_counted)} people"
        strategies, ways = run.manifest.get("strategies"), ""
        if section(content, "publisher").get("unit") != "table" and isinstance(strategies, int):
            ways = f", each in one of {number_text(strategies)} generalizations"
        yield (number, *come, " are to be shared", ways, ". Quasi-identifiers: ", *names, ".")
        several = section(spelled_out(content), "adversaries")
        each = [section(several, name) for name in several] or [section(content, "adversary")]
        yield from _group(run, each)
        yield from _inference(section(content, "publisher"), each)
        yield from adversaries(run, plan)
        yield from by_generalization(run, "publisher")

    def controls(self, scenario: TablesScenario) -> Iterator[Control]:
        """Yield the controls of payoff parameters and of the adversary's planner.

        The planner can be changed only for generalization by record against a single adversary who knows all
        quasi-identifiers of all people and gains from identification.
        """
        yield from super().controls(scenario)
        adversary, by_record = scenario.adversary, scenario.publisher.unit == "record"
        if not by_record or adversary.knowledge or scenario.adversaries or adversary.gains_from != "identity":
            return
        yield Choice("adversary.planner", "Planner of the adversary", adversary.planner, ("one-shot", "fmdp"))
        if adversary.plans_sequentially:
            key, sequential = "adversary.sequential", adversary.sequential
            yield amount_slider(f"{key}.access_cost", "Cost of access, per record", sequential.access_cost)
            yield amount_slider(f"{key}.penalty", "Penalty, per detected exploit", sequential.penalty)

    def is_by_record(self, scenario: TablesScenario, price: Literal["gain", "cost"]) -> bool:
        """Return whether a gain or cost comes from a column.

        A gain that is not given equals the loss, so that a loss column counts for it.
        """
        economics = scenario.economics
        follows_loss = price == "gain" and economics.gain is None and economics.columns.loss is not None
        return follows_loss or getattr(economics.columns, price) is not None

    def decision(self, scenario: TablesScenario) -> str:
        """Describe the decision on the whole table; empty if each record has its own."""
        publisher = scenario.publisher
        if publisher.unit == "record" or any(policy_named(name).by_class for name in publisher.policies):
            return ""
        return "one generalization for all records, and the suppressed records: the best response under the policy"

    def in_rounds(self, scenario: TablesScenario) -> bool:
        """Return whether there are agents or several releases."""
        return scenario.in_rounds


def _inference(publisher: Mapping[str, Any], each: Sequence[Mapping[str, Any]]) -> Iterator[Sentence]:
    columns, gains = key_columns(publisher.get("sensitive")), {one.get("gains_from", "identity") for one in each}
    for gain, success in (
        ("attribute", "infers a sensitive value correctly"),
        ("either", "names the person of a record or infers a sensitive value correctly"),
    ):
        if gain in gains:
            who = "An attack" if len(gains) == 1 else "For some adversaries an attack"
            yield (f"{who} succeeds if the adversary {success}: ", *codes(columns), ".")
    limits = AttributeLimits(*(publisher.get(key) for key in ("l_diversity", "t_closeness", "max_inference")))
    if limits:
        limited = "Optimizing policies limit the sensitive values of every group, "
        yield (limited, *codes(columns), f": {limits.describe()}.")


def _group(run: Any, each: Sequence[Mapping[str, Any]]) -> Iterator[Sentence]:
    if run.units[0] == "person":
        yield (
            "All records of a person share one generalization. Groups are counted in people, and a person is "
            "attacked by the record with the smallest group.",
        )
    risks = {adversary.get("risk", "journalist") for adversary in each}
    directions = {adversary.get("direction", "record") for adversary in each}
    people, recipe = run.manifest.get("people"), section(run.content, "population").get("recipe")
    if "person" in directions:
        yield ("The adversary searches for a person and picks a released row that matches the person's true values.",)
        return
    if "both" in directions:
        yield (
            "The adversary searches for the person of a released row, or for a person's row among the rows that match "
            "the person's true values, whichever has the higher probability of success.",
        )
    if len(risks) > 1 and "prosecutor" in risks:
        yield (
            "Some adversaries know who is in the file; their group of a record is the records that match its release; "
            "for the others the group is the people of the population who match the release.",
        )
    elif "sample" in risks:
        yield (
            "The group of a record is the people of the population who match its release, estimated from the records "
            "and their sampling weights.",
        )
    elif risks == {"prosecutor"}:
        yield ("The adversary knows who is in the file: the group of a record is the records that match its release.",)
    elif recipe:
        number = f" ({number_text(people)} people)" if people else ""
        group = "The group of a record is the people of the population "
        yield (group, Code(str(recipe)), f"{number} who match its release.")
