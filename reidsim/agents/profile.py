"""Fixed parameters of a multi-round model: adversary types, prices, rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from reidsim.adversaries.response import Adversary, Linkage, Planner
from reidsim.core.numerics import random_stream, word_of
from reidsim.core.validation import ReadIf, Section, with_key
from reidsim.games.composite import Meet
from reidsim.games.record_game import WITHHELD, Choice, Linker, RecordGame
from reidsim.populations.population import Money, Share
from reidsim.releases.lattice import Floats, Rows, Strategies, StrategySpace

Mode = Literal["expectation", "sampling"]
Meeting = Literal["one-of", "all"]
Foresight = Literal["holdings", "plans"]
Holdings = frozenset[str]
# How a policy uses earlier releases. "to-past": reply to them; "alone": ignore them; "hold": keep the earlier release;
# "planned": all rounds were planned before the first.
Reply = Literal["to-past", "alone", "hold", "planned"]
# Returns the strategies that a policy chooses in a game.
Solve = Callable[[str, RecordGame], Choice]


class Equipment(NamedTuple):
    """Linker of an adversary with given resources, and its attack rule.

    Attributes
    ----------
    linker : Linker
        Linker of released records to people, by the resources.
    adversary : Adversary
        Adversary that decides on attacks, given the linkage.
    """

    linker: Linker
    adversary: Adversary


class Equip(Protocol):
    """Callable that returns an adversary's equipment, given its resources."""

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        """Return the equipment; None if no record can be attacked with the resources.

        Parameters
        ----------
        holds : frozenset of str
            Resources held.
        expected_accuracy : float
            Share of correct entries in the resources, as the adversary expects it.
        believed : bool
            Whether to return the equipment that the publisher believes in, instead of the true one.
        """


@dataclass(frozen=True)
class InaccurateLinker:
    """Linker whose resources have some wrong entries; see `Linkage.inaccurate`.

    Parameters
    ----------
    linker : Linker
        Linker for resources without wrong entries.
    accuracy : float
        True share of correct entries, in (0, 1].
    expected_accuracy : float
        Share of correct entries that the adversary expects, in (0, 1].
    """

    linker: Linker
    accuracy: float
    expected_accuracy: float

    @property
    def looked_at(self) -> tuple[str, ...] | None:
        """Names of the attributes on which linkage depends; None if not known."""
        return getattr(self.linker, "looked_at", None)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Link all records, or only `rows`, released with `strategy`; see `Linker`.

        Group sizes are divided by the accuracy; see `Linkage.inaccurate`.
        """
        return self.linker.link(strategy, rows).inaccurate(self.accuracy, self.expected_accuracy)


@dataclass(frozen=True, eq=False)
class AdversaryProfile:
    """Fixed parameters of one adversary type.

    Parameters
    ----------
    name : str
        Name of the type.
    equip : Equip
        Returns linker and planner, given the resources held.
    planner : Planner
        Plans purchases and attacks; copied before the first round, so that its state belongs to one policy.
    weight : float
        Probability that the adversary of a round has this type; if several adversaries can be present, probability
        that this adversary is present in a round.
    gain : float
        Gain from a successful re-identification, in currency units per record.
    cheapest : float
        Cost of the cheapest attack on one record, in currency units.
    holds : frozenset of str
        Resources held before the first round.
    prices : mapping of str to float
        Price of each resource that the adversary can buy, in currency units.
    budget : float
        Maximum spending in a round, in currency units; infinite without a limit.
    expected_accuracy : float
        Share of correct entries in its resources that the adversary expects before the first round.
    accuracy : float
        True share of correct entries.
    learns : bool
        Whether the adversary learns the accuracy from its successes; requires an expected accuracy below 1.
    experience : float
        Number of attempts that the prior on the accuracy is worth, above 0.
    expected_fine : float
        Expected fine per exploit that the adversary's plans include, in currency units.
    access_outlay, exploit_outlay : float, optional
        Cost of an attack and of each exploit, in currency units. Without `access_outlay`, the cost is the expected gain
        less payoff and fines.
    draws_targets : bool
        Whether an adversary with too small a budget attacks a random sample of the profitable records, drawn anew in
        each round. Otherwise it attacks the records with the highest expected payoff per currency unit.
    believed : AdversaryProfile, optional
        Profile that the publisher believes in, if it differs.
    lists : callable, optional
        Returns the resources used for a re-identification, given the resources held and the inference stages (see
        `Replies.used`). Default: all resources held.
    """

    name: str
    equip: Equip
    weight: float
    gain: float
    cheapest: float
    holds: Holdings = frozenset()
    prices: Mapping[str, float] = field(default_factory=dict)
    budget: float = np.inf
    expected_accuracy: float = 1.0
    accuracy: float = 1.0
    learns: bool = False
    experience: float = 10.0
    expected_fine: float = 0.0
    access_outlay: float | None = None
    exploit_outlay: float = 0.0
    draws_targets: bool = False
    planner: Any = field(default_factory=Planner)
    believed: AdversaryProfile | None = None
    lists: Callable[[Holdings, int], tuple[str, ...]] | None = None


# Without one of these, detection has no consequence. `scenario` is the whole scenario.
_WITH_CONSEQUENCE = ReadIf(
    lambda section, scenario: (
        section.fine > 0
        or section.exclusion > 0
        or any(each.plans_sequentially for each in scenario.every_adversary.values())
    ),
    "with a fine, an exclusion, or an adversary with planner fmdp",
)


class Enforcement(Section):
    """Detection of exploits, and the consequences for the adversary.

    Attributes
    ----------
    detection
        probability that an exploit is detected
    fine
        fine for a detected exploit
    exclusion
        number of rounds for which a detected adversary is excluded
    """

    detection: Annotated[Share, _WITH_CONSEQUENCE] = 0.0
    fine: Annotated[Money, with_key("detection")] = 0.0
    exclusion: Annotated[int, Field(ge=0, le=10_000), with_key("detection")] = 0


@dataclass(frozen=True)
class Learning:
    """Parameters of the publisher's learning about adversary types.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_types,) or (n_types, 2)
        Belief before the first round, as numbers of earlier observations: attackers of each type or, if any number of
        adversaries can be present, rounds with and rounds without each adversary.
    noticed : float
        Probability that the publisher notices an attack on a record.
    """

    prior: Floats
    noticed: float = 1.0


class ParticipationRule(Section):
    """Rule by which data subjects decide, before each round, whether to participate.

    A data subject participates if the reward is at least its harm times the risk that it expects.

    Attributes
    ----------
    reward
        benefit of a data subject from participation in one round
    harm
        mean harm to a data subject from one re-identification
    spread
        standard deviation of the logarithm of the harm, which is lognormal among data subjects; 0 for equal harm
    expected_risk
        probability of re-identification that data subjects expect before the first round
    learning_rate
        weight of the latest round in the expected risk; 0 keeps the first expectation
    hears
        probability that a data subject learns of the re-identifications in a round
    """

    reward: Money
    harm: Money
    spread: Annotated[float, Field(ge=0, le=10)] = 1.0
    expected_risk: Share = 0.0
    learning_rate: Share = 0.2
    hears: Share = 1.0


@dataclass(frozen=True, eq=False)
class Known:
    """Adversaries' knowledge of earlier releases, by row.

    A row is a distinct pair of a record and the information released about it earlier; see `reidsim.agents.learning`.

    Parameters
    ----------
    cells : ndarray of int, shape (n_rows,)
        Cell (distinct record) of each row.
    past : ndarray of int64, shape (n_rows,)
        Strategy that is as informative as all earlier releases of the row together; -1 without an earlier release.
    gone : ndarray of int64, shape (n_rows,)
        Number of subjects of the row with an earlier release who do not take part in the round. It is either 0 or the
        number of all subjects of the row.
    meet : callable
        Returns the meet of strategies: the strategy that is as informative as two strategies together.
    alone : Setting
        Setting of the round on cells, without any earlier release.
    planned : ndarray of int64, shape (n_rows,), optional
        Strategy planned for the round.
    """

    cells: Rows
    past: Strategies
    gone: NDArray[np.int64]
    meet: Meet
    alone: Setting
    planned: Strategies | None = None


class PlannedReleases(NamedTuple):
    """Releases of a policy that plans all rounds before the first.

    Attributes
    ----------
    strategies : ndarray of int64, shape (rounds, n_subjects)
        Strategy of each subject's record in each round; -1 if it is withheld.
    counterfeits : ndarray of int64, shape (n_counterfeits, 3)
        For each counterfeit record: the round, from 0; a subject with the same generalization; a subject with the same
        sensitive value.
    """

    strategies: Strategies
    counterfeits: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Setting:
    """Fixed parameters of a multi-round model.

    Identical records form a cell. Strategies and replies are computed per cell, and subjects are counted per cell.

    Parameters
    ----------
    space : StrategySpace
        Strategies for the records of the cells.
    cell_of_subject : ndarray of int, shape (n_subjects,)
        Cell of each subject's record.
    benefit, loss : ndarray of float64, shape (n_cells,)
        The publisher's benefit from a release and true loss from a re-identification, in currency units per record.
    believed_loss : ndarray of float64, shape (n_cells,)
        Loss that the publisher uses for its decisions, in currency units per record.
    profiles : tuple of AdversaryProfile
        Adversary types.
    solve : callable
        Returns the strategies that a policy chooses in the game that the publisher believes in.
    is_fixed : callable
        Returns whether a policy is a rule that does not depend on adversaries.
    forbids_attacks : callable
        Returns whether a policy releases only records that no adversary attacks.
    meeting : {"one-of", "all"}
        Whether one adversary is present in a round, with a type drawn by weight, or each one with its own probability.
    rounds : int
        Number of rounds.
    mode : {"expectation", "sampling"}
        Whether outcomes are expected values or draws.
    enforcement : Enforcement
        Detection, fines and exclusion.
    learning : Learning, optional
        The publisher's learning. Default: the publisher knows the weights.
    participation : ParticipationRule, optional
        The subjects' decision to take part. Default: all subjects take part.
    foresees : {"holdings", "plans"}
        Whether the publisher considers only the adversaries' current resources, or also their purchases and budgets.
    tolerance : float
        The publisher keeps its choice while no belief about an adversary has changed by more than this amount.
    among : callable, optional
        Returns the setting for a given number of participants per cell, shape (n_cells,): `profiles`, in the same
        order, and `solve`. Omitted if absent subjects change neither linkage nor the publisher's choice.
    remembers : bool
        Whether adversaries remember the releases of earlier rounds.
    meet : callable, optional
        Returns the meet of strategies: the strategy that is as informative as two strategies together. Omitted if the
        strategies have no meet.
    split : callable, optional
        Returns the strategy space and `solve` for rows that replace the cells, given each row's cell and number of
        participants. Omitted if each subject has its own cell.
    profiles_among : callable, optional
        Returns the profiles if group sizes count only some subjects, given their number per cell. Omitted if group
        sizes do not depend on participation.
    reply_of : callable
        Returns how a policy uses earlier releases that adversaries remember; see `Reply`.
    schedule : ndarray of bool, shape (rounds, n_subjects), optional
        Whether each subject takes part in each round, if that is an input.
    planned : callable, optional
        Returns the releases of a policy that plans all rounds before the first.
    waves : tuple of str
        Names of the rounds, if they have names.
    knows_truth : bool
        Whether the publisher plans with the true payoff parameters, risks and lists instead of the believed ones.
    expected_purchases : mapping of str to frozenset of str
        Resources that the publisher expects each adversary to have in addition to the resources held when a round
        begins.
    known : Known, optional
        Information released earlier about the rows, which then replace the cells.
    measures : mapping of str to mapping
        Parameters of user-defined measures, by name of the measure.
    seed, replication : int
        Root seed of all draws, and number of this replication of the run.
    """

    space: StrategySpace
    cell_of_subject: NDArray[np.intp]
    benefit: Floats
    loss: Floats
    believed_loss: Floats
    profiles: tuple[AdversaryProfile, ...]
    solve: Solve
    is_fixed: Callable[[str], bool]
    forbids_attacks: Callable[[str], bool]
    meeting: Meeting = "one-of"
    rounds: int = 1
    mode: Mode = "expectation"
    enforcement: Enforcement = field(default_factory=Enforcement)
    learning: Learning | None = None
    participation: ParticipationRule | None = None
    foresees: Foresight = "holdings"
    tolerance: float = 1e-3
    among: Callable[[Setting, NDArray[np.int64]], Setting] | None = None
    remembers: bool = False
    meet: Meet | None = None
    split: Callable[[Rows, NDArray[np.int64]], tuple[StrategySpace, Solve]] | None = None
    profiles_among: Callable[[NDArray[np.int64]], tuple[AdversaryProfile, ...]] | None = None
    reply_of: Callable[[str], Reply] = lambda policy: "to-past"
    schedule: NDArray[np.bool_] | None = None
    planned: Callable[[str], PlannedReleases] | None = None
    waves: tuple[str, ...] = ()
    knows_truth: bool = False
    expected_purchases: Mapping[str, Holdings] = field(default_factory=dict)
    known: Known | None = None
    measures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 0
    replication: int = 0

    def stream(self, decision: str, agent: str = "", round_number: int = 0) -> np.random.Generator:
        """Return the random generator of an agent's decision in a round.

        The generator depends only on the arguments, seed and replication, not on the publisher's policy, the order of
        the agents or the draws of other agents. Two policies run with the same seed therefore meet the same adversaries
        and the same random numbers for exploits.

        Parameters
        ----------
        decision : str
            Name of the decision, such as ``"exploits"`` for the success of each exploit.
        agent : str
            Name of the deciding agent, such as an adversary; empty for the environment.
        round_number : int
            Number of the round, from 1; 0 means before the first round.

        Returns
        -------
        numpy.random.Generator
        """
        return random_stream(self.seed, "agents", word_of(decision), word_of(agent), self.replication, round_number)

    @property
    def n_subjects(self) -> int:
        """Number of data subjects."""
        return len(self.cell_of_subject)

    @property
    def n_cells(self) -> int:
        """Number of cells: distinct records.

        If adversaries remember earlier releases, the number of rows, which are distinct pairs of a record and its
        earlier releases.
        """
        return self.space.n_records

    def released(self, strategies: Strategies) -> Strategies:
        """Return the strategies of a round, with -1 for subjects who left, (n_cells,).

        `strategies` holds one strategy per cell. The entry of a cell (or row, see `Known`) is -1 (withheld) if its
        subjects had an earlier release and do not take part in this round. Without memory of earlier releases, the
        strategies are unchanged.
        """
        return strategies if self.known is None else np.where(self.known.gone > 0, WITHHELD, strategies)

    def exposed(self, participants: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of exposed records of each cell, shape (n_cells,).

        These are the records of the participants, whose number per cell is `participants`, and of subjects who left
        after an earlier release that adversaries remember.
        """
        return participants if self.known is None else participants + self.known.gone
