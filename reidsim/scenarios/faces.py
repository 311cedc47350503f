"""What a kind shows of itself and can be asked for: figures, sliders, words of `reidsim explain`, points, files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.measures import Measure
from reidsim.linkage.sensitive_values import AttributeLimits, SensitiveAttribute
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.asked import Stored, adversaries, by_generalization, plan
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import AmountPoints, AnalysisTables
from reidsim.tables import read_table
from reidsim.validation import read_toml
from reidsim.wording import Code, Sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Figures by name, as they are drawn.
Figures = Iterator[tuple[str, "Figure"]]
Value = float | str | None
# Sliders reach this many times the scenario's own amount, or the amount below if that is more.
_REACH = 3.0
_LEAST_REACH = 10.0


class Shown(Protocol):
    """The result of a run, as figures see it; see `reidsim.engine.run_result.RunResult`."""

    @property
    def name(self) -> str: ...  # noqa: D102 - as of results
    @property
    def runs(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def records(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def analysis(self) -> AnalysisTables: ...  # noqa: D102
    @property
    def manifest(self) -> dict[str, Any]: ...  # noqa: D102
    @property
    def measures(self) -> tuple[Measure, ...]: ...  # noqa: D102
    @property
    def summary(self) -> pd.DataFrame: ...  # noqa: D102


class ShownSweep(Shown, Protocol):
    """The result of a batch, as figures see it; see `reidsim.engine.batch.result.BatchResult`."""

    @property
    def design(self) -> Any: ...  # noqa: D102
    @property
    def statistics(self) -> pd.DataFrame: ...  # noqa: D102


@dataclass(frozen=True)
class Slider:
    """A number that can be changed.

    Parameters
    ----------
    key : str
        Path in the scenario, such as ``"economics.loss"``.
    label : str
        What the page calls it.
    value : float
        The scenario's.
    high : float
        Upper bound; the lower one is 0.
    step : float
    follows : str
        Key whose value this one takes while it has none of its own; empty if it always has one.
    linked : bool
        Whether the scenario gives it no value of its own.
    """

    key: str
    label: str
    value: float
    high: float
    step: float
    follows: str = ""
    linked: bool = False


@dataclass(frozen=True)
class Choice:
    """A word that can be changed to one of several; see `Slider`."""

    key: str
    label: str
    value: str
    options: tuple[str, ...]


Control = Slider | Choice


def amount_slider(key: str, label: str, value: float) -> Slider:
    """Return a slider of some hundred steps of a round size, that reaches well beyond the scenario's amount."""
    high = max(_REACH * value, _LEAST_REACH)
    step = next(size for size in (0.1, 0.5, 1, 5, 10, 50, 100, 500, 1_000, high) if high / size <= 200)
    return Slider(key, label, float(value), float(-(-high // step) * step), float(step))


class Faces:
    """What a kind shows of itself, each with a default; `Kind` derives from it.

    Attributes
    ----------
    drawn_by : str
        The module whose functions `run_figures` and `sweep_figures`, if it has them, draw what is its own; or none.
    """

    drawn_by: str = ""

    @cached_property
    def captions(self) -> Mapping[str, str]:
        """What its own figures and tables show, by their names, as the file ``captions.toml`` beside it says."""
        file = getattr(sys.modules[type(self).__module__], "__file__", None)
        path = None if file is None else Path(file).with_name("captions.toml")
        return {} if path is None or not path.is_file() else read_toml(path)

    def asked(self, run: Stored) -> Iterator[Sentence]:
        """Yield what a run was asked, in sentences of its report: against whom, and at what prices, where it says."""
        yield ("A study of the kind ", Code(str(run.content.get("game"))), ".")
        if "economics" in run.content:
            yield from adversaries(run, plan)
            yield from by_generalization(run, "publisher")

    def figures(self, result: Shown) -> Figures | None:
        """Return figures of one run, by name, besides those that every kind has: see `reidsim.figures.by_policy`."""
        return self._drawn("run_figures", result)

    def sweep_figures(self, result: ShownSweep) -> Figures | None:
        """Return figures of a batch, by name; None for those that every kind has: lines and maps along what changes."""
        return self._drawn("sweep_figures", result)

    def _drawn(self, name: str, result: object) -> Figures | None:
        # Figures are slow to import, and only needed here.
        draw = getattr(import_module(self.drawn_by), name, None) if self.drawn_by else None
        figures: Figures | None = None if draw is None else draw(result)
        return figures

    def controls(self, scenario: Any) -> Iterator[Control]:
        """Yield what the page in the browser changes: amounts of money, and keys of the kind that hold a number."""
        economics = getattr(scenario, "economics", None)
        if economics is not None:
            yield amount_slider("economics.benefit", "Benefit of sharing, per record", economics.benefit)
            yield amount_slider("economics.loss", "Loss if re-identified, per record", economics.loss)
            if getattr(getattr(economics, "columns", None), "gain", None) is None:
                gain = amount_slider("economics.gain", "Adversary's gain, per record", economics.adversary_gain)
                yield replace(gain, follows="economics.loss", linked=economics.gain is None)
            yield amount_slider("economics.cost", "Cost of an attack, per record", economics.cost)
        for key, field in type(scenario).model_fields.items():
            value = getattr(scenario, key)
            if key in ScenarioHead.model_fields or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            slider = amount_slider(key, field.description or key, value)
            whole = isinstance(value, int)
            yield Slider(key, slider.label, value, slider.high, max(1.0, slider.step)) if whole else slider

    def in_rounds(self, scenario: Any) -> bool:
        """Tell whether a scenario is played round after round."""
        return getattr(scenario, "agents", None) is not None

    def agents_of(self, scenario: Any) -> AgentsSection:
        """Return who meets whom round after round; one adversary and one round, if the scenario does not say."""
        return getattr(scenario, "agents", None) or AgentsSection()

    def attacker(self, scenario: Any, name: str) -> tuple[str, str | None]:
        """Return how an adversary of a scenario plans, and what recipe it knows."""
        section = getattr(scenario, "adversaries", {}).get(name, getattr(scenario, "adversary", None))
        return getattr(section, "planner", "one-shot"), getattr(section, "knowledge", None)

    def is_by_record(self, scenario: Any, price: Literal["gain", "cost"]) -> bool:
        """Tell whether records differ in a price of the adversary."""
        return False

    def decision(self, scenario: Any) -> str:
        """Say what whoever shares the records decides in a round; empty if it is the release of each record."""
        return ""


class ManyPoints:
    """Whether points of a sweep, or amounts of money, take less than a run each; see `Kind`."""

    def amounts_at_once(self, scenario: Any, keys: Sequence[str]) -> bool:
        """Tell whether points of these keys take milliseconds each, by `amount_points`."""
        return False

    def plans_under_amounts(self, scenario: Any) -> bool:
        """Tell whether studies of a scenario have `amount_points`."""
        return False

    def amount_points(self, study: Any) -> AmountPoints | None:
        """Return what plans a study under any amounts of money; None if the kind cannot."""
        return None

    def takes_best(self, scenario: Any, policy: str) -> bool:
        """Tell whether a policy takes the best of plans that are the same whatever sharing brings and costs."""
        return False

    def largest_group(self, study: Any) -> int | None:
        """Return among how many people a record may hide, where attacks depend on that whole number alone; else None.

        An attack then pays if the gain, divided by the number of people, exceeds the cost.
        """
        return None


@dataclass(frozen=True)
class HierarchyFile:
    """A file that says by which labels the values of an attribute are released.

    Parameters
    ----------
    path : str
        As the scenario names it, from its folder.
    delimiter : str
    header : bool
        Whether its first row names the levels.
    """

    path: str
    delimiter: str = ";"
    header: bool = False


@dataclass(frozen=True)
class SharedColumns:
    """Which columns of the file of records are quasi-identifiers, and what is promised of them.

    Parameters
    ----------
    column_of : mapping of str to str
        Column of each attribute.
    delimiter : str
        Between columns of the file.
    header : bool
        Whether the file names its columns; else they are numbered from 1, and shared under the attributes' names.
    hierarchies : mapping of str to HierarchyFile
        Of attributes whose labels stand in a file.
    stars : frozenset of str
        Attributes of which a value that reads like a suppressed one has another name when it is shared.
    person : str or tuple of str, optional
        Column, or columns together, that identify the person of a record; each record is a person if not given.
    counts_release : bool
        Whether success probabilities are those of an adversary who knows who is in the file, and every
        quasi-identifier of everybody in it, so that counts in the file must not exceed them.
    identifies : bool
        Whether success is naming the person of a record, rather than also or only inferring a sensitive value.
    """

    column_of: Mapping[str, str]
    delimiter: str = ","
    header: bool = True
    hierarchies: Mapping[str, HierarchyFile] | None = None
    stars: frozenset[str] = frozenset()
    person: str | tuple[str, ...] | None = None
    counts_release: bool = True
    identifies: bool = True


class LimitedColumns(NamedTuple):
    """Sensitive columns of records, and the limits on what a shared file may reveal of them.

    Attributes
    ----------
    attributes : tuple of SensitiveAttribute
        Values of all records of the release.
    limits : AttributeLimits
    """

    attributes: tuple[SensitiveAttribute, ...]
    limits: AttributeLimits


class SensitiveColumn(NamedTuple):
    """A column whose values a policy protects from inference.

    Attributes
    ----------
    name : str
    m : int
        Least number of different values in an equivalence class, of which none has more than 1 in m rows.
    """

    name: str
    m: int


class RecordSharing:
    """The part of a kind of scenario that says how its records are shared.

    A kind that names its `release_file` is shared as it stands: each name in the scenario's ``attributes`` is a column
    of the file and, as released, a column of the table of records.
    """

    def release_file(self, scenario: Any) -> str | None:
        """Return the file whose records a scenario shares, as the scenario names it; None if they have none."""
        return None

    def shared_columns(self, scenario: Any) -> SharedColumns:
        """Say which columns of that file are quasi-identifiers.

        Raises
        ------
        InputError
            If the records as shared are not those of the file.
        """
        person = getattr(getattr(scenario, "release", None), "person", None)
        return SharedColumns({str(name): str(name) for name in getattr(scenario, "attributes", ())}, person=person)

    def sensitive_column(self, scenario: Any, policy: str) -> SensitiveColumn | None:
        """Return the column that a policy protects from inference; None if it protects none."""
        return None

    def limited_columns(
        self,
        scenario: Any,
        frame: pd.DataFrame,
        path: Path,
        hierarchies: Callable[[], Mapping[str, list[list[str]]]],
    ) -> LimitedColumns | None:
        """Return the columns of the records for which a scenario sets limits; None without limits.

        Parameters
        ----------
        scenario : ScenarioHead
        frame : DataFrame
            All columns of the records.
        path : Path
            Their file.
        hierarchies : callable
            Returns the rows of the hierarchy files that `shared_columns` names.
        """
        return None

    def read_records(self, scenario: Any, path: Path) -> pd.DataFrame:
        """Read all columns of that file, values as they are."""
        return read_table(path, trim=False)

    def true_values(self, scenario: Any, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
        """Return the attributes' columns of a file, values as they would be released without generalization."""
        columns = self.shared_columns(scenario).column_of
        return pd.DataFrame({name: frame[column].str.strip() for name, column in columns.items()})

    def released_values(self, scenario: Any, records: pd.DataFrame, attribute: str) -> pd.Series[str]:
        """Return an attribute as a policy releases it, ``*`` where it is suppressed.

        Parameters
        ----------
        scenario : ScenarioHead
        records : DataFrame
            The policy's rows of the table of records.
        attribute : str
        """
        column = records[attribute]
        if not isinstance(column.dtype, pd.CategoricalDtype):
            return column.astype("str").mask(column.isna(), SUPPRESSED)
        # Few labels become text, not those of every record; what is missing has the code -1, the last.
        labels = pd.array([*column.cat.categories.astype("str"), SUPPRESSED], dtype="str")
        return pd.Series(labels.take(column.cat.codes.to_numpy()), column.index, name=attribute)

    def is_shared(self, records: pd.DataFrame) -> NDArray[np.bool_]:
        """Tell which rows of the table of records are shared at all, shape (n_records,)."""
        return np.asarray(records["strategy"] != "withheld")
