"""The description of a study in Python: built, changed, saved and run.

The class for loading scenarios lies below the engine, so this subclass, the only public one, adds the methods that run
a scenario.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeAlias, TypeVar

import pandas as pd
from narwhals.typing import IntoDataFrame
from rich.console import Console

from reidsim.core.errors import InputError, listed, naming_arguments, nearest, refuse_first, require_among, writing
from reidsim.core.files import PrivateFolder, require_new_file, require_plain, unfinished_beside
from reidsim.core.registry import registered
from reidsim.core.tables import as_file, delimiter_key, library_of, pandas_table
from reidsim.core.terminal import DelayedProgress
from reidsim.core.validation import toml_text, validated, with_texts
from reidsim.engine.attributes import ORDERS, AttributesResult, attributes_loaded
from reidsim.engine.batch.design import at_point, is_batch
from reidsim.engine.batch.executors import Executor, SerialExecutor, executor_named
from reidsim.engine.batch.runner import run_batch_loaded, run_loaded
from reidsim.engine.cross_play import CrossPlayOptions, CrossPlayResult, cross_play_loaded, has_several_plays
from reidsim.engine.results import RunResult
from reidsim.engine.score import ScoreOptions, ScoreResult, score_loaded
from reidsim.engine.stress.run import StressResult, describe, stress_loaded, with_method
from reidsim.engine.switch import LOSS, SwitchResult, switch_loaded
from reidsim.games.matrix_games import Sum
from reidsim.games.outcomes import OWN_MEASURES
from reidsim.scenarios.agents import WHO_COMES
from reidsim.scenarios.kind import Progress, hold, kind_of
from reidsim.scenarios.parts import is_importable
from reidsim.scenarios.registry import DEFAULT_KIND, scenario_kind
from reidsim.scenarios.scenario import SOURCE, InMemory, Study, anchored
from reidsim.scenarios.scenario import Scenario as BaseScenario
from reidsim.scenarios.schema import READ_BY_CROSS_PLAY

_AMOUNTS = ("benefit", "loss", "gain", "cost")
# Keys of the records to be released, by section of the kind's schema.
_RECORDS = {"release": "path", "targets": "file", "population": "path"}

# A scenario, or the name, file, text or content of one; see `Scenario.load`.
Source: TypeAlias = str | Path | Mapping[str, Any] | BaseScenario[Any]
P = ParamSpec("P")
R = TypeVar("R")


def scenario_method(play: Callable[P, R]) -> Callable[P, R]:
    """Decorate a method that runs the scenario.

    The method then shows a progress bar in notebooks, and its errors name arguments. The method has an argument
    ``progress``; there is no bar if the caller passes it.
    """

    @functools.wraps(play)
    def decorated(*args: P.args, **kwargs: P.kwargs) -> R:
        console = Console(stderr=True)
        try:
            if kwargs.get("progress") is not None or not console.is_jupyter:
                return play(*args, **kwargs)
            with DelayedProgress(console) as bar:
                kwargs["progress"] = bar
                return play(*args, **kwargs)
        except InputError as error:
            scenario: Any = args[0]
            raise without_folder(error, scenario.path, scenario.place) from None

    return naming_arguments(decorated)


def without_folder(error: InputError, path: Path, place: PrivateFolder | None) -> InputError:
    """Return the error with names in place of paths in a temporary folder.

    `path` is that of the scenario, `place` its temporary folder, if any. An error of option ``--set``, or of a scenario
    file in the temporary folder, has `SOURCE` as source; one of another file there, the file name. Others are
    unchanged.
    """
    folder, source = None if place is None else Path(place.name), Path(error.source or "")
    if error.source == "--set" or (source == path and path.parent == folder):
        return error.but(source=SOURCE)
    return error.but(source=source.name) if folder is not None and source.is_relative_to(folder) else error


class Scenario(BaseScenario[Any]):
    """Description of a study: data, adversary, payoff parameters and policies.

    A scenario does not change; `with_` returns a changed copy. Two scenarios are equal if their values, defaults
    included, and the contents of their files are equal. `load` reads a scenario, and `from_frames` builds one from
    tables in memory.

    See Also
    --------
    new : draft a scenario from records.
    run : run a scenario file.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52], "sex": ["F", "F", "M"]})
    >>> scenario = reidsim.Scenario.from_frames(
    ...     patients,
    ...     hierarchies={"age": reidsim.intervals(5), "sex": "suppress"},
    ...     economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 40},
    ... )
    >>> scenario.run().summary["publisher_payoff"].round(2).to_dict()
    {'basic': 40.88, 'no-attack': 40.88}
    >>> reidsim.Scenario.load(scenario.to_toml()) == scenario
    True
    """

    if not TYPE_CHECKING:
        load = classmethod(naming_arguments(vars(BaseScenario)["load"].__func__))

    @classmethod
    def from_frames(
        cls,
        records: IntoDataFrame | str | Path | None = None,
        *,
        population: Any = None,
        hierarchies: Mapping[str, Any] | None = None,
        adversary: Any = None,
        economics: Mapping[str, Any] | None = None,
        policies: Sequence[Any] | None = None,
        unit: str | None = None,
        seed: int | None = None,
        game: str = DEFAULT_KIND,
        name: str = "scenario",
        allow_code: bool = False,
        **sections: Any,
    ) -> Self:
        """Build a scenario from tables and objects in memory.

        The arguments have the keys of a scenario file. A table may be given wherever a file is named: a DataFrame of
        pandas or polars, a Table of pyarrow, or a table of another library that narwhals converts.

        Parameters
        ----------
        records : DataFrame, str or Path, optional
            Records to be released, one per row: a table or a file (``release.path``, or ``targets.file`` of a masking
            game). A table is copied.
        population : DataFrame, Population, str, Path or mapping, optional
            The population: one row per person, counted people, the name or file of a recipe, or section
            ``population``. Without a population, adversaries of a game of tables link with the released records.
        hierarchies : mapping of str to object, optional
            Hierarchy of each quasi-identifier, in lattice order: `intervals`, `prefix`, `groups`, ``"suppress"``, a
            section of a scenario file, a table or file with one row per value and one column per level, or a
            `Hierarchy`.
        adversary : mapping, str or object, optional
            Section ``adversary``, whose ``planner`` may be an object; or only the planner. An object has a method
            ``respond(linkage, rows)``, or is a class or function that makes such an object from ``gain``, ``cost`` and
            the section's ``parameters``. Sweeps over these need such a class or function.
        economics : mapping, optional
            Payoff parameters in currency units per record: ``benefit``, ``loss``, ``gain`` and ``cost``, which may also
            be arguments.
        policies : sequence, optional
            Policies to compare: names, objects with a method ``choose(game)`` that returns one strategy per record,
            and classes or functions that make such objects.
        unit : {"record", "table"}, optional
            Whether one strategy is chosen per record, or one for the whole table.
        seed : int, optional
            Seed of all random draws.
        game : str
            Kind of scenario.
        name : str
            Name of the scenario in results.
        allow_code
            As in `load`.
        **sections : object
            Other keys and sections of a scenario file.

        Raises
        ------
        InputError
            If an argument cannot be used or has no effect; names the argument, the value found and the value expected.
        """
        require_plain(name, f"{SOURCE}: argument 'name'")
        library, records = library_of(records), pandas_table(records)
        content: dict[str, Any] = {} if game == DEFAULT_KIND else {"game": game}
        kind = scenario_kind({"game": game}, Path(SOURCE), allow_code=allow_code)
        place = _place_of_records(kind)
        if isinstance(records, pd.DataFrame):
            own = {name: sections.get("attributes", {}).get(name, {}) for name in hierarchies or {}}
            named = [section.get("column", name) for name, section in own.items() if not section.get("draw")]
            known = tuple(map(str, records.columns))
            require_among("no such column", named, known, source=SOURCE, where="hierarchies", shown=20)
        arguments: list[tuple[str, Any]] = [
            (place, None if records is None else _records_section(place, records, sections.get(place, {}))),
            ("population", population if population is None else _population_section(place, population)),
            ("attributes", None if hierarchies is None else {key: {"hierarchy": h} for key, h in hierarchies.items()}),
            ("economics", economics),
            ("economics", {amount: sections.pop(amount, None) for amount in _AMOUNTS}),
            ("adversary", adversary),
            (kind.decider or "publisher", {"policies": policies, "unit": unit}),
            ("seed", seed),
            *sections.items(),
        ]
        memory = InMemory(folder := PrivateFolder(), {})
        path = Path(folder.name, f"{name}.toml")
        try:
            for key, value in arguments:
                if value is not None:
                    content = _joined(content, {key: memory.plain(anchored({key: value}, Path())[key], key)})
            if population is None and game == DEFAULT_KIND:
                content["adversary"] = {"risk": "prosecutor", **content.get("adversary", {})}
            started = cls(name, path, None, content, {}, allow_code, memory.objects, folder, library)
            return started.overridden({}, own=content)
        except InputError as error:
            raise without_folder(error, path, folder) from None

    def with_(self, overrides: Mapping[str, object] | None = None, /, **changes: object) -> Self:
        """Return the scenario with other values.

        Parameters
        ----------
        overrides : mapping of str to object, optional
            Value by key path, such as ``{"economics.loss": 600}``; None removes the key.
        **changes : object
            The same by name: an argument of `from_frames`, except ``game``, ``name`` and ``allow_code``; a section,
            which is replaced as a whole; or a key path with ``__`` in place of dots, such as
            ``adversary__sequential__penalty``. Tables and objects are allowed as in `from_frames`.

        Raises
        ------
        InputError
            If a value cannot be used or has no effect; names the key, the value found and the value expected.
        """
        given = dict(overrides or {})
        for name, value in changes.items():
            given |= self._values(name, value)
        memory = InMemory(self.place, self.objects, absolute=True)
        plain = {key: None if value is None else memory.plain(value, key) for key, value in given.items()}
        library = library_of(changes["records"]) if "records" in changes else self.library
        try:
            return replace(self, objects=memory.objects, place=memory.place, library=library).overridden(plain)
        except InputError as error:
            raise without_folder(error, self.path, memory.place) from None

    def to_toml(self, path: str | Path | None = None, *, overwrite: bool = False) -> str:
        """Return the scenario as the text of a scenario file; write it if `path` is given.

        Parameters
        ----------
        path : str or Path, optional
            New TOML file. Tables in memory are written to a folder beside it: ``mine-tables`` of ``mine.toml``. Files
            in the folder of the TOML file are named relative to it. Without a path, the text refers to temporary
            tables, which exist as long as the scenario.
        overwrite : bool
            Whether an earlier file is replaced, as soon as the new one is complete.

        Raises
        ------
        InputError
            If a file exists already, its name does not end in ``.toml``, or a user-defined adversary or policy is not
            in an importable module.
        """
        place = None if self.place is None else Path(self.place.name)
        path = None if path is None else Path(path).absolute()
        tables = None if path is None else path.with_name(f"{path.stem}-tables")

        def moved(text: str) -> str:
            name = Path(text).name
            if place is not None and text in (name, str(place / name)) and (place / name).is_file():
                return str(place / name) if tables is None else f"{tables.name}/{name}"
            if path is not None and os.path.isabs(text) and os.path.isfile(text):
                inside, parent = Path(text).resolve(), path.parent.resolve()
                return inside.relative_to(parent).as_posix() if inside.is_relative_to(parent) else text
            return text

        unread = self.unread()
        content = {**({"inherited": unread} if unread else {}), **self.named_objects(self.content)}
        text = toml_text(with_texts(anchored(content, self.folder), moved))
        if path is not None and tables is not None:
            if path.suffix != ".toml":
                raise InputError("not the name of a scenario", source=path, expected="a name that ends in .toml")
            for new in () if overwrite else (path, tables):
                require_new_file(new)
            with writing(path):
                if place is not None and any(place.iterdir()):
                    shutil.copytree(place, tables, dirs_exist_ok=overwrite)
                os.replace(unfinished_beside(path, lambda name: Path(name).write_text(text, encoding="utf-8")), path)
        return text

    def build(self) -> Study[Any]:
        """Read the data, and return the study that the engine solves."""
        return kind_of(self.scenario).study_of(self)

    def hold(self) -> Self:
        """Read the data, and return the scenario with them in memory.

        Methods of the result, and of copies by `with_` with other payoff parameters, beliefs or policies, do not read
        the data again, unless a file has changed.

        Examples
        --------
        >>> import reidsim
        >>> held = reidsim.Scenario.load("wan2015").hold()
        >>> held.with_(loss=600).run().summary.equals(reidsim.run("wan2015", overrides={"economics.loss": 600}).summary)
        True
        """
        return replace(self, held=hold(self))

    @scenario_method
    def check(self, *, progress: Progress | None = None) -> str:
        """Check that all files and parts can be used; return the study's size.

        The size is one line of text.
        """
        return describe(self)

    @scenario_method
    def run(
        self, *, executor: str = "auto", scheduler: str | None = None, progress: Progress | None = None
    ) -> RunResult:
        """Play the policies against the adversary.

        Strategies are chosen under the publisher's beliefs; payoffs are computed with the true parameters. A scenario
        with a sweep, uncertain parameters or several replications is run as by `batch`, without a folder.

        Parameters
        ----------
        executor, scheduler
            As in `batch`. For a single run only ``"dask"``, whose workers read the files of one large table.
        progress : callable, optional
            Callback with three arguments: current activity, amount done and total amount.

        Returns
        -------
        RunResult

        Raises
        ------
        InputError
            If a file, adversary, policy or executor cannot be used.
        """
        used = self._executor(executor, scheduler=scheduler)
        reads_files = executor == "dask" and self.scenario.counts_records
        if executor != "auto" and not (reads_files or is_batch(self.scenario)):
            expected = "a sweep or uncertainty in the scenario, or method batch"
            raise InputError("the scenario is a single run", source=self.path, found=executor, expected=expected)
        result = run_loaded(self, executor=used, progress=progress)
        return replace(result, held=self)

    @scenario_method
    def rounds(self, rounds: int, *, progress: Progress | None = None, **agents: object) -> RunResult:
        """Return the result of `run` with repeated rounds of publisher and adversaries.

        The arguments replace keys of the scenario's section ``agents``: `rounds` the number of rounds, and `agents`
        other keys, by name.
        """
        changes = {f"agents.{name}": value for name, value in {"rounds": rounds, **agents}.items()}
        return self.with_(changes).run(progress=progress)

    @scenario_method
    def batch(
        self,
        folder: str | Path | None = None,
        *,
        executor: str = "auto",
        workers: int | None = None,
        scheduler: str | None = None,
        timeout: float | None = None,
        resume: bool = False,
        rerun_failed: bool = False,
        progress: Progress | None = None,
    ) -> RunResult:
        """Run every point and replication.

        Parameters
        ----------
        folder : str or Path, optional
            New results folder. Finished runs are kept there if the batch fails.
        executor : {"auto", "serial", "processes", "dask"}
            Where runs are done. ``"auto"`` uses this process, and several processes if that takes more than some
            seconds; only this process if the scenario has user-defined objects, unless `workers` or `timeout` is given.
        workers : int, optional
            Number of processes; as many as cores and free memory allow if not given.
        scheduler : str, optional
            Address of the dask cluster for executor ``dask``.
        timeout : float, optional
            Seconds after which a run is given up (in processes only).
        resume : bool
            Continue the batch of the folder.
        rerun_failed : bool
            Continue the batch of the folder, and repeat its failed runs.
        progress : callable, optional
            As in `run`.

        Returns
        -------
        RunResult
            A `BatchResult`, with statistics over runs; for replications of the masking game alone, the result of `run`.

        Raises
        ------
        InputError
            If a point is invalid, a file cannot be used or changes, an option cannot be used, or the folder is not
            empty or, with `resume` or `rerun_failed`, is missing or holds another batch. A failed run is no error.
        """
        return run_batch_loaded(
            self,
            self._executor(executor, workers=workers, scheduler=scheduler, timeout=timeout),
            folder=_batch_folder(folder, is_continued=resume or rerun_failed),
            resume=resume,
            rerun_failed=rerun_failed,
            progress=progress,
        )

    @scenario_method
    def sweep(
        self,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        one_at_a_time: bool | Sequence[str] = False,
        folder: str | Path | None = None,
        executor: str = "auto",
        workers: int | None = None,
        scheduler: str | None = None,
        timeout: float | None = None,
        resume: bool = False,
        rerun_failed: bool = False,
        progress: Progress | None = None,
        **named: Any,
    ) -> RunResult:
        """Run at every combination of parameter values.

        Parameters
        ----------
        values : mapping of str to iterable, optional
            Values by key path.
        one_at_a_time : bool or sequence of str
            Whether to vary all parameters, or the parameters named, one at a time instead of crossing them.
        folder, executor, workers, scheduler, timeout, resume, rerun_failed, progress
            As in `batch`.
        **named : iterable
            Values by name, as in `with_`: ``loss=[100, 300]``, or ``adversaries__broker__gain=[50, 400]``.

        Returns
        -------
        RunResult
            A `BatchResult`, with one `summary` row per point and policy.

        Raises
        ------
        InputError
            If there are no values, or a value or key cannot be used.
        """
        keys = {self._key(name): _several(name, each) for name, each in named.items()}
        section: dict[str, Any] = {"values": {**(values or {}), **keys}}
        if not section["values"]:
            raise InputError("nothing to sweep", source=SOURCE, expected="values, such as loss=range(0, 500, 50)")
        if one_at_a_time:
            chosen = section["values"] if one_at_a_time is True else one_at_a_time
            section["one_at_a_time"] = [self._key(name) if name in named else name for name in chosen]
        return self.with_(sweep=section).batch(
            folder,
            executor=executor,
            workers=workers,
            scheduler=scheduler,
            timeout=timeout,
            resume=resume,
            rerun_failed=rerun_failed,
            progress=progress,
        )

    @scenario_method
    def stress(
        self,
        ranges: Mapping[str, Any] | None = None,
        /,
        *,
        method: str | None = None,
        samples: int | None = None,
        executor: str | None = None,
        workers: int | None = None,
        scheduler: str | None = None,
        timeout: float | None = None,
        runs: str | Path | None = None,
        progress: Progress | None = None,
        **named: Any,
    ) -> StressResult:
        """Compute the effects of uncertain parameters on the decision.

        Parameters
        ----------
        ranges : mapping of str to (float, float) or mapping, optional
            Bounds of a uniform distribution, or a distribution as in a scenario file, by key path; those of the
            scenario if not given.
        method : {"sobol", "morris", "tornado"}, optional
            Method of the sensitivity analysis.
        samples : int, optional
            Number of samples of the sensitivity analysis.
        executor, workers, scheduler, timeout
            As in `batch`.
        runs : str or Path, optional
            Folder that keeps finished runs for a repeated call.
        progress : callable, optional
            As in `run`.
        **named : (float, float) or mapping
            Ranges by name, as in `with_`. ``adversary=["one-shot", "fmdp"]`` makes the adversary type of cross-play
            uncertain.

        Raises
        ------
        InputError
            If there are no uncertain parameters for the analyses, or a range, option or file cannot be used.
        """
        parameters = {**(ranges or {}), **{self._key(name): each for name, each in named.items()}}
        changed = self
        if parameters:
            distributions = {key: self._distribution(key, each) for key, each in parameters.items()}
            n_points = self.content.get("uncertainty", {}).get("samples")
            changed = self.with_(uncertainty={"parameters": distributions, "samples": n_points})
        used = self._executor(executor, workers=workers, scheduler=scheduler, timeout=timeout)
        folder = None if runs is None else Path(runs)
        return stress_loaded(with_method(changed, method, samples), executor=used, progress=progress, runs=folder)

    @scenario_method
    def cross_play(
        self,
        *,
        knowledge: str | None = None,
        stages: str | Path | None = None,
        attack_rate: float = 0.5,
        equilibrium: bool = False,
        double_oracle: Sum | None = None,
        tolerance: float = 0.01,
        executor: str = "auto",
        workers: int | None = None,
        scheduler: str | None = None,
        timeout: float | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
        rerun_failed: bool = False,
        progress: Progress | None = None,
    ) -> CrossPlayResult:
        """Play every defender against every adversary, at every point and replication.

        A defender is a policy, planned against one of the adversaries. The adversaries are the scenario's own, the
        built-in ones, and the ones of `knowledge` and `stages`. Built-in adversaries that cannot play are left out,
        with the reason in the result.

        Parameters
        ----------
        knowledge : str, optional
            Knowledge recipe of the adversary with partial knowledge; the scenario's if not given.
        stages : str or Path, optional
            Attack recipe of the multistage adversary; the scenario's if not given. Not allowed for a masking scenario,
            which has its own stages.
        attack_rate : float
            Probability with which the random adversary attacks a record.
        equilibrium : bool
            Whether to compute the defender's maximin and minimax-regret mixtures, and Nash equilibria of the payoffs.
        double_oracle : {"zero-sum", "general-sum"}, optional
            Add best responses to mixtures until the players' gains from further best responses sum to at most the
            tolerance. The adversary minimizes the defender's payoff (``"zero-sum"``) or maximizes its own payoff
            (``"general-sum"``). It does not depend on `equilibrium`.
        tolerance : float
            Tolerance of the double oracle, in currency units per record.
        executor, workers, scheduler, timeout, folder, resume, rerun_failed
            As in `batch`, for scenarios with replications, a sweep or uncertain parameters. Other scenarios are a
            single run, on which `executor` has no effect.
        progress : callable, optional
            As in `run`.

        Returns
        -------
        CrossPlayResult
            Payoffs and other measures of each pair of a defender and an adversary, and the requested tables.

        Raises
        ------
        InputError
            If a file of the scenario or an option cannot be used, the scenario has no policies, or `workers`,
            `scheduler`, `timeout`, `folder`, `resume` or `rerun_failed` is set for a single run.
        """
        processes: dict[str, Any] = {"workers": workers, "scheduler": scheduler, "timeout": timeout}
        used = self._executor(executor, **processes)
        into = _batch_folder(folder, is_continued=resume or rerun_failed)
        given = next((name for name, value in {**processes, "folder": folder}.items() if value is not None), None)
        if given is not None and not has_several_plays(self.scenario):
            expected = "replications, sweep or uncertainty in the scenario"
            raise InputError("the scenario is a single run", source=self.path, found=given, expected=expected)
        options = CrossPlayOptions(
            knowledge,
            None if stages is None else str(stages),
            attack_rate,
            equilibrium=equilibrium,
            double_oracle=double_oracle,
            tolerance=tolerance,
        )
        return cross_play_loaded(
            self, options, executor=used, folder=into, resume=resume, rerun_failed=rerun_failed, progress=progress
        )

    @scenario_method
    def switch(
        self,
        key: str = LOSS,
        *,
        low: float | None = None,
        high: float | None = None,
        link_gain: bool = False,
        progress: Progress | None = None,
    ) -> SwitchResult:
        """Find the values of an amount at which another policy pays the publisher most.

        Parameters
        ----------
        key : str
            ``economics.loss``, ``economics.gain``, ``economics.benefit`` or ``economics.cost``, or its last part.
        low, high : float, optional
            Range of values; from 0 to four times the scenario's value if not given.
        link_gain : bool
            Whether the adversary's gain equals the loss at each point; else the gain of the scenario is kept.
        progress : callable, optional
            As in `run`.

        Returns
        -------
        SwitchResult

        Raises
        ------
        InputError
            If the scenario has no such amount, it differs between records, `link_gain` is set for another amount than
            the loss, or the range is invalid.
        """
        path = f"economics.{key}" if key in _AMOUNTS else key
        return switch_loaded(self, path, low=low, high=high, link_gain=link_gain, progress=progress)

    @scenario_method
    def attributes(self, *, orders: int = ORDERS, progress: Progress | None = None) -> AttributesResult:
        """Play with and without each quasi-identifier, and compute its Shapley share.

        Parameters
        ----------
        orders : int
            Number of orders drawn if there are more than 10 columns.
        progress : callable, optional
            As in `run`.

        Returns
        -------
        AttributesResult

        Raises
        ------
        InputError
            If the scenario is not one of tables, or a file that it names cannot be used.
        """
        return attributes_loaded(self, orders=orders, progress=progress)

    @scenario_method
    def score(
        self,
        data: pd.DataFrame | str | Path,
        *,
        key: str | None = None,
        control: pd.DataFrame | str | Path | None = None,
        sensitive: Sequence[str] = (),
        synthetic: bool = False,
        progress: Progress | None = None,
    ) -> ScoreResult:
        """Compute payoff and risk of released records of any program, compared with the policies.

        Key ``noise`` of the scenario describes how a program changed the values.

        Parameters
        ----------
        data : DataFrame, str or Path
            Released records, in memory or as a file: delimited text or Parquet. Cells may be values, labels of
            hierarchies, ``*``, intervals or sets.
        key : str, optional
            Column, in the original and the released records, that identifies a record; if not given, there is one row
            per record, in the order of the scenario's records.
        control : DataFrame, str or Path, optional
            People who are not in the released records, in the form of the original records. It adds `claims` on
            identity, sensitive columns and membership to the result.
        sensitive : sequence of str, optional
            Columns that an adversary infers with help of the released records; by default, ``publisher.sensitive``.
        synthetic : bool
            Whether no released row belongs to a record. Then the result has only `claims`, and `control` is needed.
        progress : callable, optional
            As in `run`.

        Returns
        -------
        ScoreResult

        Raises
        ------
        InputError
            If the scenario is not one of tables or has no policies, or the records cannot be used.
        """
        others = nullcontext() if control is None else as_file(control, "score: argument 'control'", "control")
        given = {"key": key, "sensitive": sensitive, "synthetic": synthetic}
        options = validated(ScoreOptions, given, "score").model_dump()
        is_sorted = key is None and not synthetic and "sidecar" in getattr(data, "attrs", {})
        problem, expected = "the rows of a table from share are sorted", "a kept identifier of records"
        refuse_first((is_sorted, problem, "argument 'key'", "no key", expected), source="score")
        with as_file(data, "score: argument 'data'") as file, others as people:
            return score_loaded(self, file, control=people, progress=progress, **options)

    def _values(self, name: str, value: object) -> dict[str, object]:
        """Return the values by key path of an argument of `with_`; see `_key`."""
        place = _place_of_records(kind_of(self.scenario))
        if name == "records":
            of_file = (_RECORDS[place], "delimiter", "encoding", "header", "sheet")
            others = {key: v for key, v in self.content.get(place, {}).items() if key not in of_file}
            return {place: {**others, **_records_section(place, pandas_table(value))}}
        if name == "hierarchies" and isinstance(value, Mapping):
            return {f"attributes.{column}.hierarchy": hierarchy for column, hierarchy in value.items()}
        if name == "population" and value is not None:
            value = _population_section(place, value)
        if name == "adversary" and "population" not in self.content and isinstance(value, Mapping):
            risk = {key: v for key, v in self.content.get("adversary", {}).items() if key == "risk"}
            value = {**risk, **value}
        return {self._key(name): value}

    def _key(self, name: str) -> str:
        """Return the key path of an argument name, such as ``economics.loss`` of ``loss``.

        ``benefit``, ``loss``, ``gain`` and ``cost`` are keys of ``economics``; ``policies`` and ``unit`` are keys in
        the section of the decision maker, such as ``publisher``. In other names ``__`` is replaced by dots; the name of
        a top-level key or section is unchanged.

        Raises
        ------
        InputError
            For any other name.
        """
        short = {each: f"economics.{each}" for each in _AMOUNTS}
        decider = kind_of(self.scenario).decider or "publisher"
        short |= {name: f"{decider}.{name}" for name in ("policies", "unit")}
        if not (name in short or "__" in name or name in type(self.scenario).model_fields):
            expected = f"{listed(_AMOUNTS)}, a section, or a key of a scenario with __ in place of dots"
            hint = nearest(name, _AMOUNTS)
            raise InputError("no such parameter", source=SOURCE, where=name, hint=hint, expected=expected)
        # The names of parts in key paths may have hyphens, which names of arguments cannot have.
        names = {*registered(OWN_MEASURES), *(name for _, name, *_ in self._own_parts)}

        def part_of(text: str) -> str:
            found = [each for each in names if each.replace("-", "_") == text]
            return found[0] if len(found) == 1 else text

        return short.get(name) or ".".join(map(part_of, name.split("__")))

    def _distribution(self, key: str, given: Any) -> Any:
        """Return the distribution of an uncertain key, given a range or a distribution.

        A range is uniform, over whole numbers if the key does not accept others.
        """
        if isinstance(given, Mapping):
            return given
        if key == WHO_COMES:
            return {"distribution": "discrete", "values": _several(key, given)}
        if not isinstance(given, Iterable) or len(bounds := [*given]) != 2:
            expected = "the lowest and the highest value, such as (100, 500)"
            raise InputError("not a range", source=SOURCE, where=key, found=given, expected=expected)
        whole = all(map(pd.api.types.is_integer, bounds))
        if whole:
            with suppress(InputError):
                at_point(self, {key: bounds[0] + 0.5}).check_parts()
                whole = False
        limits = {"low": bounds[0], "high": bounds[1]}
        return {"distribution": "uniform", **limits, **({"whole": True} if whole else {})}

    def _executor(self, name: str | None, **options: Any) -> Executor:
        """Return the executor with a name; by default, ``auto``.

        If the scenario uses parts in memory, ``auto`` means this process, unless `options` set workers or a timeout.
        `options` are those of `executor_named`.

        Raises
        ------
        InputError
            If other processes would be used, and cannot import a part; or as `executor_named` does.
        """
        used = executor_named(name or "auto", **options)
        own = [*self.in_memory.values(), *registered(OWN_MEASURES).values()]
        if own and name in (None, "auto") and not (options.get("workers") or options.get("timeout")):
            return SerialExecutor()
        apart = [part for part in own if not (isinstance(used, SerialExecutor) or is_importable(part))]
        problem = "other processes cannot import this; move it to a module such as parts.py, and import it"
        refuse_first((apart, problem, "executor", next(iter(apart), None), None), source=SOURCE)
        return used


def run(
    scenario: Source,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Run a scenario.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        Name of a bundled scenario, such as ``"wan2015"``, a TOML file, the text or content of one, or a scenario.
    overrides : mapping of str to object, optional
        Values by key path that replace the scenario's, such as ``{"economics.loss": 600}``.
    seed : int, optional
        Seed of all random draws; the scenario's if not given.
    allow_code : bool
        Whether modules that the scenario names as adversary or policy may run.
    progress : callable, optional
        Callback with three arguments: current activity, amount done and total amount.

    Raises
    ------
    InputError
        If the scenario or a file it names cannot be used.

    See Also
    --------
    run_batch : run points and replications.
    Scenario.run : the same for a scenario in memory.

    Examples
    --------
    >>> import reidsim
    >>> result = reidsim.run("wan2015", overrides={"economics.loss": 600})
    >>> result.summary["publisher_payoff"].round(2).to_dict()
    {'safe-harbor': 849.27, 'basic': 1191.42, 'sh-friendly': 849.97, 'no-attack': 1147.3}
    """
    return Scenario.load(scenario, overrides, seed=seed, allow_code=allow_code).run(progress=progress)


def run_batch(
    scenario: Source,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    folder: str | Path | None = None,
    **options: Any,
) -> RunResult:
    """Run every point and replication of a scenario.

    Parameters
    ----------
    scenario, overrides, seed, allow_code
        As in `run`.
    folder, **options
        As in `Scenario.batch`.

    See Also
    --------
    run : run a scenario once.
    Scenario.batch : the same for a scenario in memory.

    Examples
    --------
    >>> import reidsim
    >>> sweep = {"sweep.values": {"economics.loss": [100, 300, 600]}}
    >>> result = reidsim.run_batch("wan2015", overrides=sweep)
    >>> result.runs.groupby("economics.loss")["publisher_payoff"].max().round(2).to_dict()
    {100: 1198.29, 300: 1195.21, 600: 1191.42}
    """
    return Scenario.load(scenario, overrides, seed=seed, allow_code=allow_code).batch(folder, **options)


def cross_play(
    scenario: Source,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    **options: Any,
) -> CrossPlayResult:
    """Play every defender against every adversary of a scenario.

    This is done at every point and replication.

    Parameters
    ----------
    scenario, overrides, seed, allow_code
        As in `run`.
    **options
        As in `Scenario.cross_play`.

    See Also
    --------
    run : run a scenario.
    Scenario.cross_play : the same for a scenario in memory.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.cross_play("wan2015").matrix("regret").loc["no-attack vs one-shot"].round(2).to_dict()
    {'one-shot': 25.72, 'fmdp': 5.26, 'always': 26.86, 'never': 30.51, 'random': 28.19}
    """
    loaded = Scenario.load(scenario, overrides, seed=seed, allow_code=allow_code, also_read=READ_BY_CROSS_PLAY)
    return loaded.cross_play(**options)


def score(
    data: pd.DataFrame | str | Path,
    scenario: Source,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    **options: Any,
) -> ScoreResult:
    """Compute payoff and risk of released records of any program, compared with the policies of a scenario.

    Parameters
    ----------
    data, **options
        As in `Scenario.score`.
    scenario, overrides, seed, allow_code
        As in `run`.

    See Also
    --------
    Scenario.score : the same for a scenario in memory.
    share : write the records that a policy releases.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55] * 20, "sex": ["F", "F", "M", "M"] * 20})
    >>> scenario = reidsim.Scenario.from_frames(
    ...     patients,
    ...     hierarchies={"age": reidsim.intervals(5), "sex": "suppress"},
    ...     economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 2},
    ... )
    >>> reidsim.score(patients.assign(sex="*"), scenario).summary["publisher_payoff"].round(2).to_dict()
    {'data.csv': 51.67, 'basic': 85.0, 'no-attack': 66.67}
    """
    loaded = Scenario.load(scenario, overrides, seed=seed, allow_code=allow_code)
    return loaded.score(data, **options)


def stress(
    scenario: Source,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    **options: Any,
) -> StressResult:
    """Compute the effects of a scenario's uncertain parameters on the decision.

    Parameters
    ----------
    scenario, overrides, seed, allow_code
        As in `run`. The scenario has a section ``stress``, ``uncertainty`` or both.
    **options
        As in `Scenario.stress`.

    See Also
    --------
    Scenario.stress : the same for a scenario in memory.
    run_batch : run points and replications.

    Examples
    --------
    >>> import pandas, reidsim
    >>> scenario = reidsim.Scenario.from_frames(
    ...     pandas.DataFrame({"age": [30, 34, 52]}),
    ...     hierarchies={"age": reidsim.intervals(5)},
    ...     economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 40},
    ... )
    >>> file = scenario.to_toml("patients.toml")
    >>> loss = {"distribution": "uniform", "low": 100, "high": 600}
    >>> uncertain = {"uncertainty.parameters": {"economics.loss": loss}, "uncertainty.samples": 16}
    >>> reidsim.stress("patients.toml", overrides=uncertain)  # doctest: +ELLIPSIS
    StressResult(...)
    """
    return Scenario.load(scenario, overrides, seed=seed, allow_code=allow_code).stress(**options)


def _place_of_records(kind: Any) -> str:
    """Return the section of a kind of scenario that names the records, one of `_RECORDS`."""
    return next((place for place in _RECORDS if place in kind.schema.model_fields), "release")


def _records_section(place: str, records: Any, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the entries of section `place` that name the records: a table, or the path of a file.

    The delimiter of a file is detected, unless the section in `given` has it.
    """
    if isinstance(records, pd.DataFrame):
        return {_RECORDS[place]: records}
    if not isinstance(records, str | Path):
        found, expected = type(records).__name__, "a DataFrame, or the path of a file"
        raise InputError("not a table", source=SOURCE, where="records", found=found, expected=expected)
    path = Path(records).absolute()
    has_none = place == "population" or "delimiter" in (given or {})
    return {_RECORDS[place]: path} | ({} if has_none else delimiter_key(path))


def _population_section(place: str, population: Any) -> Any:
    """Return the section ``population`` with a table or recipe; `place` is the section of the records."""
    key = _RECORDS[place] if place == "population" else "recipe"
    return population if isinstance(population, Mapping) else {key: population}


def _joined(before: Mapping[str, Any], plain: Mapping[str, Any], key: str = "") -> dict[str, Any]:
    """Return the union of the content of two arguments, sections merged key by key.

    `before` and `plain` are plain data. `key` is the key path of both, for messages. At the top level, values None and
    ``{}`` are left out.

    Raises
    ------
    InputError
        If a key has a value in both.
    """
    found = dict(before)
    for name, value in plain.items():
        own, path = found.get(name), f"{key}.{name}" if key else name
        if isinstance(own, Mapping) and isinstance(value, Mapping):
            found[name] = _joined(own, value, path)
        elif own is not None:
            raise InputError("given twice", source=SOURCE, where=path, found=value, expected="one value")
        elif key or value not in (None, {}):
            found[name] = value
    return found


def _several(name: str, values: Any) -> Any:
    if isinstance(values, str | Mapping) or not hasattr(values, "__iter__"):
        raise InputError("not values", source=SOURCE, where=name, found=values, expected="a list, a range or an array")
    return values


def _batch_folder(folder: str | Path | None, *, is_continued: bool) -> Path | None:
    """Return the folder of a batch as a path; None if no folder is given.

    If an earlier batch is continued (`is_continued`), an `InputError` is raised instead of returning None.
    """
    if is_continued and folder is None:
        raise InputError("no folder to resume from", where="folder", expected="the folder of a batch")
    return None if folder is None else Path(folder)
