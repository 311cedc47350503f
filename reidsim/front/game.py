"""Define a game of records, people, adversaries and payoffs, and solve it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from reidsim.engine.batch.batch_run import run_batch_loaded
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.executors.choice import SerialExecutor
from reidsim.engine.cross_play import CrossPlayResult, cross_play_loaded
from reidsim.engine.cross_play.result import CrossPlayOptions
from reidsim.engine.run import run_loaded
from reidsim.engine.run_result import RunResult
from reidsim.engine.stress.run import StressResult, stress_loaded
from reidsim.errors import InputError, require_among
from reidsim.front.adversaries import Amount
from reidsim.front.arguments import GAME, named_arguments
from reidsim.front.content import UNITS, Parts, parts_of
from reidsim.front.files import write_scenario
from reidsim.front.opponents import Opponents, population_of
from reidsim.front.records import Records
from reidsim.front.varied import sweep_section, uncertainty_section
from reidsim.populations.population import Population
from reidsim.progress import watched
from reidsim.scenarios.given import validated_with
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import DEFAULT_KIND, kind_named, kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress, Study

_DEFAULT_POLICIES = ("basic", "no-attack")


@dataclass(frozen=True, eq=False)
class Game:
    """Game between a publisher of records and an adversary.

    All settings are given at construction and are attributes afterwards; `dataclasses.replace` makes a modified copy. A
    game is the in-memory equivalent of a scenario file.

    Parameters
    ----------
    records : Records
    population : Population, DataFrame, str or Path, optional
        The population: counted people, a table with one row per person, or the name or file of a recipe. Without a
        population, group sizes are counted among the released records.
    adversary : OneShot, Sequential, Always, Never, Random, Own or object
        The adversary. An object with a method ``respond(linkage, rows)`` is a user-defined adversary; see `Own`.
    adversaries : mapping of str to the same, optional
        Several adversary types by name, in place of `adversary`; each record faces one of them. Each type has one gain
        (the loss if None) and one cost, known to the publisher.
    weights : mapping of str to float, optional
        Prior probability of each type; must sum to 1. Uniform if not given.
    benefit, loss : float, str or array
        The publisher's benefit of sharing a record unchanged, and its loss if the record is re-identified, in currency
        units: one amount, a column of the records, or one amount per record.
    unit : {"record", "table"}
        Whether one strategy is chosen per record, or one for the whole table.
    policies : sequence
        Policies to compare: names, and objects with a method ``choose(game)`` that returns one strategy per record.
    seed : int
        Seed of all random draws.
    overrides : mapping of str to object
        Additional scenario keys by key path, such as ``{"beliefs.cost": 5, "safe_harbor": {"age": "age"}}``.
    name : str
        Name of the game in results.

    Raises
    ------
    InputError
        If an argument cannot be used; the message names the argument, the value found and the value expected.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52], "sex": ["F", "F", "M"]})
    >>> records = reidsim.Records(patients, {"age": reidsim.intervals(5), "sex": "suppress"})
    >>> game = reidsim.Game(records, adversary=reidsim.OneShot(gain=60, cost=40), benefit=100, loss=300)
    >>> game
    Game(3 records, one-shot, unit='record')
    >>> game.play(["basic", "no-attack"]).summary["publisher_payoff"].round(2).to_dict()
    {'basic': 40.88, 'no-attack': 40.88}
    """

    records: Records
    population: Population | pd.DataFrame | str | Path | None = None
    adversary: Any = field(default=None, kw_only=True)
    adversaries: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    weights: Mapping[str, float] | None = field(default=None, kw_only=True)
    benefit: Amount = field(kw_only=True)
    loss: Amount = field(kw_only=True)
    unit: Literal["record", "table"] = field(default="record", kw_only=True)
    policies: Sequence[object] = field(default=_DEFAULT_POLICIES, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    overrides: Mapping[str, object] = field(default_factory=dict, kw_only=True)
    name: str = field(default="game", kw_only=True)
    _people: Population | str | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if not isinstance(self.records, Records):
            raise InputError("no records", source=GAME, where="argument 'records'", found=type(self.records).__name__,
                             expected="Records(table, hierarchies)")  # fmt: skip
        require_among("value not allowed", (self.unit,), UNITS, source=GAME, where="argument 'unit'")
        if self.population is not None:
            people = population_of(self.population, "people", "argument 'population'")
            object.__setattr__(self, "_people", people)
        self.scenario()

    def __repr__(self) -> str:
        size = repr(self.records).removeprefix("Records(").partition(",")[0] if self.records.n_records is None else (
            f"{self.records.n_records:,} records"
        )  # fmt: skip
        return f"Game({size}, {self._opponents.words}, unit={self.unit!r})"

    # Views of the game: scenario, study and fingerprint.

    def scenario(
        self, policies: Sequence[object] | None = None, seed: int | None = None, **sections: object
    ) -> Scenario[ScenarioHead]:
        """Return the game as a loaded scenario that refers to its data in memory.

        Parameters
        ----------
        policies : sequence, optional
            Policies; by default the policies of the game.
        seed : int, optional
            Seed; by default the seed of the game.
        **sections : object
            Additional sections of a scenario file.
        """
        with named_arguments():
            parts = self._parts(policies)
            content = {**parts.content, "seed": self.seed if seed is None else seed, **sections}
            path = Path(GAME)
            checked = validated_with(parts.given, kind_named(DEFAULT_KIND).schema, content, path)
            return Scenario(self.name, path, checked, content, given=parts.given)

    @property
    def study(self) -> Study[Any]:
        """The study that the engines solve, with cells, hierarchies and linkage."""
        loaded = self.scenario()
        with named_arguments():
            return kind_of(loaded.scenario).build(loaded)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the coded records, hierarchies and people, as for a scenario file."""
        return self.study.fingerprint

    # Computations.

    @watched
    def play(
        self, policies: Sequence[object] | None = None, seed: int | None = None, *, progress: Progress | None = None
    ) -> RunResult:
        """Play policies against the adversary.

        Strategies are chosen under the publisher's beliefs; payoffs are computed with the true parameters.

        Parameters
        ----------
        policies : sequence, optional
            Names, and objects with a method ``choose(game)``; by default the policies of the game.
        seed : int, optional
            Seed of all random draws.
        progress : callable, optional
            Callback with three arguments: current activity, amount done and total amount.

        Returns
        -------
        RunResult
            The same result as from `reidsim.run`.
        """
        loaded = self.scenario(policies, seed)
        with named_arguments():
            return replace(run_loaded(loaded, progress=progress), held=loaded)

    @watched
    def sweep(
        self,
        *,
        one_at_a_time: bool | Sequence[str] = False,
        policies: Sequence[object] | None = None,
        seed: int | None = None,
        progress: Progress | None = None,
        **values: Any,
    ) -> RunResult:
        """Play at every combination of parameter values.

        Parameters
        ----------
        one_at_a_time : bool or sequence of str
            Whether to vary all parameters, or the parameters named, one at a time from their values in the game,
            instead of crossing them.
        policies, seed, progress
            As in `play`.
        **values : iterable
            Values of ``benefit``, ``loss``, ``gain`` or ``cost``, or of any other scenario key with ``__`` in place of
            dots: ``adversary__sequential__penalty=[0, 100]``, or ``adversaries__broker__gain=[50, 400]``.

        Returns
        -------
        RunResult
            A `BatchResult`, with one `summary` row per point and policy.
        """
        if not values:
            raise InputError("nothing to sweep", source="Game.sweep", expected="values, such as loss=range(0, 500, 50)")
        in_turn = list(values) if one_at_a_time is True else list(one_at_a_time or ())
        section = sweep_section(values, in_turn, self.adversaries)
        loaded = self.scenario(policies, seed, sweep=section)
        with named_arguments():
            return run_batch_loaded(loaded, self._executor(policies), progress=progress)

    @watched
    def cross_play(
        self,
        policies: Sequence[object] | None = None,
        *,
        seed: int | None = None,
        knowledge: str | None = None,
        stages: str | Path | None = None,
        sweep: Mapping[str, Any] | None = None,
        uncertain: Mapping[str, Any] | None = None,
        samples: int | None = None,
        replications: int = 1,
        equilibrium: bool = False,
        double_oracle: Literal["zero-sum", "general-sum"] | None = None,
        tolerance: float = 0.01,
        folder: str | Path | None = None,
        resume: bool = False,
        rerun_failed: bool = False,
        progress: Progress | None = None,
    ) -> CrossPlayResult:
        """Play all defenders known to the game and user policies against every adversary.

        Parameters
        ----------
        policies, seed, progress
            As in `play`.
        knowledge, stages, equilibrium, double_oracle, tolerance, folder, resume, rerun_failed
            As in `reidsim.cross_play`.
        sweep : mapping of str to iterable, optional
            Values by parameter name, such as ``{"loss": [100, 300]}``; names as in `Game.sweep`.
        uncertain : mapping of str to (float, float) or mapping, optional
            Ranges or distributions by parameter name, such as ``{"cost": (5, 20)}``; see `stress`.
        samples : int, optional
            Number of points drawn from the uncertain parameters.
        replications : int
            Number of runs at each point.
        """
        sections: dict[str, object] = {}
        if sweep:
            sections["sweep"] = sweep_section(sweep, (), self.adversaries)
        if uncertain:
            sections["uncertainty"] = uncertainty_section(uncertain, samples, self.adversaries)
        if replications != 1:
            sections["replications"] = replications
        loaded = self.scenario(policies, seed, **sections)
        options = CrossPlayOptions(
            knowledge,
            None if stages is None else str(stages),
            self._opponents.rate,
            equilibrium=equilibrium,
            double_oracle=double_oracle,
            tolerance=tolerance,
        )
        with named_arguments():
            return cross_play_loaded(
                loaded,
                options,
                executor=self._executor(policies),
                folder=None if folder is None else Path(folder),
                resume=resume,
                rerun_failed=rerun_failed,
                progress=progress,
            )

    @watched
    def stress(
        self,
        *,
        parts: Mapping[str, object] | None = None,
        samples: int | None = None,
        policies: Sequence[object] | None = None,
        seed: int | None = None,
        progress: Progress | None = None,
        **ranges: Any,
    ) -> StressResult:
        """Analyze how uncertain parameters affect the decision.

        Parameters
        ----------
        parts : mapping, optional
            Section ``stress`` of a scenario file, which selects the analyses; sensitivity and robustness if not given.
        samples : int, optional
            Number of points drawn for robustness.
        policies, seed, progress
            As in `play`.
        **ranges : (float, float) or mapping
            Bounds of a uniform distribution for ``benefit``, ``loss``, ``gain`` or ``cost``, or a distribution as in a
            scenario file. Other keys have ``__`` in place of dots. ``adversary=["one-shot", "fmdp"]`` makes the
            adversary type of cross-play uncertain.
        """
        if not ranges and parts is None:
            raise InputError("nothing uncertain", source="Game.stress", expected="ranges, such as loss=(100, 500)")
        sections: dict[str, object] = {} if parts is None else {"stress": dict(parts)}
        if ranges:
            sections["uncertainty"] = uncertainty_section(ranges, samples, self.adversaries)
        loaded = self.scenario(policies, seed, **sections)
        with named_arguments():
            return stress_loaded(loaded, executor=self._executor(policies), progress=progress)

    def to_scenario(self, path: str | Path, policies: Sequence[object] | None = None) -> Path:
        """Write the game to a scenario file, with its tables as CSV files beside it.

        Parameters
        ----------
        path : str or Path
            New TOML file. Table names start with its stem: ``mine.toml`` has ``mine-records.csv``.
        policies : sequence, optional
            Policies; by default the policies of the game.

        Returns
        -------
        Path
            Path of the scenario file.

        Raises
        ------
        InputError
            If a file exists already, or a user-defined adversary or policy is not in an importable module.
        """
        path = Path(path)
        with named_arguments():
            parts = self._parts(policies, f"{path.stem}-")
            parts.content["seed"] = self.seed
            return write_scenario(path, parts)

    # Components.

    @property
    def _opponents(self) -> Opponents:
        """The adversaries, with user-defined objects wrapped in `Own`."""
        return Opponents.of(self.adversary, self.adversaries, self.weights)

    def _parts(self, policies: Sequence[object] | None, prefix: str = "") -> Parts:
        amounts = {"benefit": self.benefit, "loss": self.loss}
        chosen = self.policies if policies is None else policies
        if isinstance(chosen, str):
            chosen = [chosen]
        return parts_of(self.records, self._people, self._opponents, amounts, self.unit, chosen, self.overrides, prefix)

    def _executor(self, policies: Sequence[object] | None) -> Executor | None:
        """Return a serial executor if there are user-defined objects, else None.

        Other processes may be unable to import such objects.
        """
        parts = self._parts(policies)
        return SerialExecutor() if parts.policies or parts.planners else None
