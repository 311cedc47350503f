"""A scenario with its data read, as the engine sees it, and what playing it leaves."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
import pandas as pd

from reidsim.populations.population import Population

if TYPE_CHECKING:
    from reidsim.games.defenders.defender import Game
    from reidsim.games.equilibrium import Equilibrium
    from reidsim.games.record_game import Choice
    from reidsim.populations.population import Counts
    from reidsim.releases.strategy_space import Floats, Strategies
    from reidsim.scenarios.adversary_schema import AdversarySection
    from reidsim.scenarios.load import LoadedScenario
    from reidsim.scenarios.schema import EconomicsSection, ScenarioHead

# Called with what is being done, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]
S = TypeVar("S", bound="ScenarioHead")


@dataclass(frozen=True)
class World:
    """One draw of a study, ready to be played.

    Parameters
    ----------
    truth : RecordGame or MaskingGame
        In which payoffs accrue.
    belief : RecordGame or MaskingGame
        In which whoever shares the records decides.
    weights : ndarray of int64, shape (n_rows,)
        Records that each row of the games stands for.
    """

    truth: Game
    belief: Game
    weights: Counts


@dataclass(frozen=True, eq=False)
class Study(ABC, Generic[S]):
    """A scenario with everything that it names at hand.

    Parameters
    ----------
    loaded : LoadedScenario
    """

    loaded: LoadedScenario[S]

    @property
    def scenario(self) -> S:
        """The scenario as run."""
        return self.loaded.scenario

    @property
    def draws(self) -> int:
        """How often one run draws the study."""
        return 1

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of the data; changes with any that matter."""

    @abstractmethod
    def world(self, draw: int = 0) -> World:
        """Return the games of a draw.

        Raises
        ------
        InputError
            If the scenario does not fit its data, or nobody decides in it.
        """

    def with_loaded(self, loaded: LoadedScenario[S]) -> Self:
        """Return the study of a scenario that differs in what no data depend on."""
        return replace(self, loaded=loaded)

    def with_adversary(self, section: AdversarySection) -> Self:
        """Return the study of the same records against another adversary.

        Raises
        ------
        InputError
            If the kind does not know such an adversary.
        """
        return self.with_sections(adversary=section)

    def with_sections(self, **sections: object) -> Self:
        """Return the study of a scenario with other sections, on the same data."""
        return replace(self, loaded=self.loaded.with_sections(**sections))


@dataclass(frozen=True, eq=False)
class PolicyOutcome:
    """What a policy chose and what came of it.

    Parameters
    ----------
    equilibrium : Equilibrium
        Of the rows of the world's games, on the truth.
    choice : Choice, optional
    seconds : float, optional
        That choosing took, where policies were played one by one.
    """

    equilibrium: Equilibrium
    choice: Choice | None = None
    seconds: float | None = None


def digest_of(told: str, parts: Iterable[np.ndarray[Any, Any] | Population | None]) -> str:
    """Return the SHA-256 of a text and the bytes of arrays and populations, as far as there are any."""
    digest = hashlib.sha256(told.encode())
    for part in parts:
        for array in (part.cells, part.counts) if isinstance(part, Population) else (part,):
            if array is not None:
                digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def equilibria_of(outcomes: Mapping[str, PolicyOutcome]) -> dict[str, Equilibrium]:
    """Return the equilibria of outcomes, by policy."""
    return {policy: outcome.equilibrium for policy, outcome in outcomes.items()}


def record_table(
    equilibria: Mapping[str, Equilibrium],
    rows: np.ndarray[Any, np.dtype[np.intp]],
    describe: Callable[[int], str],
    *,
    beside: Callable[[Equilibrium], Mapping[str, Any]] = lambda found: {},
    released: Callable[[Equilibrium], pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Return one row per record and policy.

    Parameters
    ----------
    equilibria : mapping of str to Equilibrium
        By policy.
    rows : ndarray of intp, shape (n_records,)
        The row of the games on which each record stands.
    describe : callable
        Returns what a strategy is called.
    beside : callable, optional
        Returns more columns of a policy, which stand behind the number of the record.
    released : callable, optional
        Returns the columns of a policy that stand behind its outcomes, given those of each record.

    Returns
    -------
    DataFrame
        Columns record, policy, strategy, publisher_payoff, adversary_payoff, attacked, success_probability, utility,
        generalization_intensity, and those asked for; records numbered from 0.
    """
    used = np.unique(np.concatenate([np.unique(each.strategies) for each in equilibria.values()]))
    # Below 0 stands what is withheld.
    strategies = pd.Index(["withheld" if each < 0 else describe(each) for each in used.tolist()], dtype="str")
    policies = pd.Index(list(equilibria), dtype="str")

    def of_policy(number: int, equilibrium: Equilibrium) -> pd.DataFrame:
        each = equilibrium.expand(rows)
        code = np.searchsorted(used, equilibrium.strategies).astype(np.int32)[rows]
        outcome = pd.DataFrame(
            {
                "record": np.arange(len(rows)),
                **beside(equilibrium),
                "policy": pd.Categorical.from_codes(np.full(len(rows), number), categories=policies),
                "strategy": pd.Categorical.from_codes(code, categories=strategies),
                "publisher_payoff": each.publisher_payoff,
                "adversary_payoff": each.adversary_payoff,
                "attacked": each.attacked,
                "success_probability": each.success_probability,
                "utility": each.utility,
                "generalization_intensity": each.generalization_intensity,
            }
        )
        return outcome if released is None else pd.concat([outcome, released(each)], axis=1)

    return pd.concat([of_policy(*each) for each in enumerate(equilibria.values())], ignore_index=True)


def solver_facts(equilibrium: Equilibrium, row_of_record: np.ndarray[Any, np.dtype[np.intp]]) -> dict[str, Any]:
    """Say how strategies were found, as means over records."""
    facts: dict[str, Any] = {
        "solver": equilibrium.solver,
        "proved_optimal": equilibrium.exact,
        "strategies_evaluated_per_record": round(float(equilibrium.evaluated[row_of_record].mean()), 3),
        "withheld": int(equilibrium.withheld[row_of_record].sum()),
    }
    return facts if equilibrium.gap is None else {**facts, "largest_gap": float(equilibrium.gap.max())}


@dataclass(frozen=True, eq=False, kw_only=True)
class AnalysisTables:
    """Tables behind the figures of a scenario; kinds add their own. A table not asked for is empty.

    Parameters
    ----------
    runtimes : DataFrame
        Seconds of each policy, by replication.
    reidentified : DataFrame
        Distribution by policy of the number of people re-identified, over replications.
    left_out : tuple of str
        What the scenario asks for and cannot be computed, with the reason.
    """

    runtimes: pd.DataFrame = field(default_factory=pd.DataFrame)
    reidentified: pd.DataFrame = field(default_factory=pd.DataFrame)
    left_out: tuple[str, ...] = ()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables that hold anything, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, pd.DataFrame) and len(value)}


@dataclass(frozen=True, eq=False)
class Played:
    """What came of a study: the parts of a result that its kind, or rounds of agents, tell.

    Parameters
    ----------
    runs, records : DataFrame
        As results folders keep them.
    analysis : AnalysisTables
    facts : dict
        For the manifest.
    warnings : tuple of str
    by : tuple of str
        Columns of runs that tell apart what is averaged.
    measured : tuple of str
        Columns of runs that are averaged; all that are measures, if not given.
    """

    runs: pd.DataFrame
    records: pd.DataFrame
    analysis: AnalysisTables
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    by: tuple[str, ...] = ("policy",)
    measured: tuple[str, ...] = ()


class Plan(Protocol):
    """The form in which each record is shared."""

    @property
    def strategies(self) -> Strategies:
        """Shape (n_rows,); -1 where a record is withheld."""
        ...

    @property
    def one_shot_success(self) -> Floats | None:
        """Success probability of a one-shot attack on each row, shape (n_rows,); None against other adversaries."""
        ...

    def equilibrium(self, truth: EconomicsSection) -> Equilibrium:
        """Return what the strategies lead to under the truth."""
        ...


class DroppedColumns(Protocol):
    """Plays the policies of a study without some of its quasi-identifiers.

    Attributes
    ----------
    names : tuple of str
        The quasi-identifiers.
    policies : tuple of str
        Those that can be played so.
    """

    names: tuple[str, ...]
    policies: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know about the outcomes."""
        ...

    def play(self, kept: Collection[str]) -> Mapping[str, Equilibrium]:
        """Return what policies lead to if only some columns may be told, by policy."""
        ...


class AmountPoints(Protocol):
    """Plans the policies of a study under any amounts of money, with linkage computed once."""

    study: Any

    def plan(self, policy: str, believed: EconomicsSection) -> Plan:
        """Return how a policy shares each record if some economics are believed in."""
        ...

    def play(self, strategies: Strategies) -> Plan:
        """Return the plan of given strategies, shape (n_rows,)."""
        ...
