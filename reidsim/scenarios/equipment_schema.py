"""Schema of an adversary's resources, budget and payoff parameters.

All kinds of scenario use the same keys.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, require_distinct
from reidsim.scenarios.amounts import Money
from reidsim.scenarios.read_keys import with_key
from reidsim.validation import Section

Positive = Annotated[float, Field(gt=0, le=1e9)]

# The best purchase is searched over all subsets of resources, so the work doubles with each resource.
_MOST_PURCHASES = 8


class EquipmentSection(Section):
    """An adversary's own payoff parameters, resources and budget.

    Attributes
    ----------
    gain
        gain from a re-identification; default: `economics.gain`
    cost
        cost of an attempt or exploit; default: `economics.cost`
    holds
        with `[agents]`: resources that the adversary has from the start; default: all, unless `buys` is set
    buys
        with `[agents]`: resources that the adversary may buy, at most eight
    budget
        with `[agents]`: money for purchases and attacks in each round; default: no limit
    selection
        records attacked if the budget does not cover all profitable attacks: in every round the records with the
        highest expected payoff per unit of money, or a new random sample
    accuracy
        with `[agents]`: true share of correct entries in the adversary's resources
    expected_accuracy
        with `[agents]`: share of correct entries that the adversary first expects and then learns from its attempts;
        default: it knows the true share
    experience
        with `[agents]`: number of attempts to which the first expectation `expected_accuracy` is equivalent
    """

    gain: Money | None = None
    cost: Money | None = None
    holds: tuple[str, ...] | None = None
    buys: tuple[str, ...] = ()
    budget: Money | None = None
    selection: Literal["best", "random"] = "best"
    accuracy: Annotated[float, Field(gt=0, le=1)] = 1.0
    expected_accuracy: Annotated[float, Field(gt=0, lt=1)] | None = None
    experience: Annotated[Positive, with_key("expected_accuracy")] = 10.0

    @model_validator(mode="after")
    def _equipped_consistently(self) -> EquipmentSection:
        for key in ("holds", "buys"):
            names = getattr(self, key) or ()
            require_distinct("resource given twice", names, where=key)
        both = [name for name in self.buys if name in (self.holds or ())]
        if both:
            raise InputError("resource both held and bought", where="buys", found=both[0])
        if self.selection == "random" and self.budget is None:
            raise InputError(
                "random selection needs a budget",
                where="selection",
                found="random",
                expected='selection = "random" only with a budget',
            )
        if len(self.buys) > _MOST_PURCHASES:
            raise InputError(
                "too many resources to buy", where="buys", found=len(self.buys), expected=f"at most {_MOST_PURCHASES}"
            )
        return self

    @property
    def amounts(self) -> dict[str, float]:
        """The adversary's own gain and cost, by name.

        A value is missing if the value of the section ``economics`` applies.
        """
        return {name: amount for name in ("gain", "cost") if (amount := getattr(self, name)) is not None}

    @property
    def of_rounds(self) -> tuple[str, ...]:
        """Keys of this section set in the scenario that have an effect only in rounds.

        ``holds`` is not among them, because it also has an effect in games with lists of people.
        """
        return tuple(name for name in EquipmentSection.model_fields if name in self.model_fields_set - _OF_GAMES)

    @property
    def needs_resources(self) -> bool:
        """Whether the section states resources that the adversary holds or may buy.

        If so, the adversary can attack only with these.
        """
        return self.holds is not None or bool(self.buys)

    @property
    def is_inaccurate(self) -> bool:
        """Whether the true or the expected accuracy of resources is below 1."""
        return self.accuracy < 1 or self.expected_accuracy is not None


_OF_GAMES = frozenset(("gain", "cost", "holds"))


def refuse_knowledge_held(section: EquipmentSection, knowledge: str | None) -> None:
    """Refuse a knowledge recipe of an adversary with resources.

    The resources already determine its background knowledge.
    """
    if knowledge is not None and section.needs_resources:
        raise InputError(
            "a knowledge recipe and resources exclude each other",
            where="knowledge",
            expected="either knowledge, or holds and buys",
        )
