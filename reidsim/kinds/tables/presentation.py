"""Presentation of table scenarios: report sentences and browser controls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from reidsim.kinds.tables.policy import policy_named
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.linkage.sensitive_values import AttributeLimits
from reidsim.scenarios.adversary_defaults import spelled_out
from reidsim.scenarios.people import key_columns
from reidsim.scenarios.presentation import Choice, Control, Presentation, amount_slider
from reidsim.scenarios.report_sentences import adversaries, by_generalization, plan, section
from reidsim.wording import Code, Sentence, codes, number_text


class TablesPresentation(Presentation):
    """Report sentences and browser controls of the kind of tables; see `Presentation`."""

    drawn_by = "reidsim.kinds.tables.figures.sweeps"

    def asked(self, run: Any) -> Iterator[Sentence]:
        """Yield sentences on release, group sizes, adversaries and other inputs of a run.

        Results of earlier versions of the package are supported.
        """
        former, publisher = run.content.get("game"), section(run.content, "publisher")
        one_for_all = former == "full-domain" or publisher.get("unit") == "table"
        strategies, nodes = run.manifest.get("strategies"), run.manifest.get("nodes")
        if one_for_all:
            ways = (
                f"one of {number_text(nodes)} generalizations for all records, with some records suppressed"
                if nodes
                else ""
            )
        else:
            ways = f"each in one of {number_text(strategies)} generalizations" if isinstance(strategies, int) else ""
        yield _shared(run, ways)
        yield from _group(run, default="prosecutor" if former == "full-domain" else "journalist")
        yield from _inference(run)
        yield from adversaries(run, plan)
        yield from by_generalization(run, "publisher")

    def controls(self, scenario: TablesScenario) -> Iterator[Control]:
        """Yield the controls of payoff parameters and of the adversary's planner.

        The planner can be changed only for generalization by record against a single adversary who knows all
        quasi-identifiers of all people and gains from identification.
        """
        yield from super().controls(scenario)
        adversary = scenario.adversary
        if scenario.publisher.unit == "table" or adversary.knowledge is not None or scenario.adversaries:
            return
        if adversary.gains_from != "identity":
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


def _shared(run: Any, ways: str) -> Sentence:
    release = section(run.content, "release")
    origin = release.get("path") or release.get("table")
    number = f"{run.n_records:,} records" if run.n_records else "Records"
    if run.units[0] == "person":
        number += f" of {number_text(run.n_counted)} people"
    come = (" from ", Code(str(origin))) if origin else ()
    names = codes(list(section(run.content, "attributes")))
    return (f"{number}", *come, " are to be shared", f", {ways}" if ways else "", ". Quasi-identifiers: ", *names, ".")


def _inference(run: Any) -> Iterator[Sentence]:
    publisher = section(run.content, "publisher")
    columns = key_columns(publisher.get("sensitive"))
    several = section(spelled_out(run.content), "adversaries")
    each = [section(several, name) for name in several] or [section(run.content, "adversary")]
    gains = {adversary.get("gains_from", "identity") for adversary in each}
    for gain, success in (
        ("attribute", "infers a sensitive value correctly"),
        ("either", "names the person of a record or infers a sensitive value correctly"),
    ):
        if gain in gains:
            who = "An attack" if len(gains) == 1 else "For some adversaries an attack"
            yield (f"{who} succeeds if the adversary {success}: ", *codes(columns), ".")
    limits = AttributeLimits(*(publisher.get(key) for key in ("l_diversity", "t_closeness", "max_inference")))
    if limits:
        yield (
            "Optimizing policies limit the sensitive values of every group, ",
            *codes(columns),
            f": {limits.describe()}.",
        )


def _group(run: Any, default: str = "journalist") -> Iterator[Sentence]:
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
        yield (
            "The group of a record is the people of the population ",
            Code(str(recipe)),
            f" ({number_text(people)} people) who match its release." if people else " who match its release.",
        )
