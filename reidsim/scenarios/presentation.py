"""Optional methods of a kind of scenario.

They concern figures, sliders, report sentences, shared files, and fast evaluation of many points.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.linkage.sensitive_values import AttributeLimits, SensitiveAttribute
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.scenarios.hierarchies import Table
from reidsim.scenarios.publisher_schema import AgentsSection
from reidsim.scenarios.report_sentences import adversaries, by_generalization, plan
from reidsim.scenarios.schema import ScenarioHead
from reidsim.tables import read_table
from reidsim.validation import read_toml
from reidsim.wording import Code, Sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Names and figures; each figure is drawn when the iterator reaches it.
Figures = Iterator[tuple[str, "Figure"]]
Value = float | str | None
# The upper bound of a slider: this multiple of the scenario's amount, but at least `_LEAST_REACH` currency units.
_REACH = 3.0
_LEAST_REACH = 10.0


@dataclass(frozen=True)
class Slider:
    """A slider for a number of the scenario.

    Parameters
    ----------
    key : str
        Key path in the scenario, such as ``"economics.loss"``.
    label : str
        Label on the page.
    value : float
        Value in the scenario.
    high : float
        Upper bound; the lower bound is 0.
    step : float
        Difference between neighbouring positions.
    follows : str
        Key whose value is the default of this key; empty if the key has no such default.
    linked : bool
        Whether the scenario leaves the key unset, so that it follows the other key.
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
    """A selection between text values of a scenario key; see `Slider`."""

    key: str
    label: str
    value: str
    options: tuple[str, ...]


Control = Slider | Choice


def amount_slider(key: str, label: str, value: float) -> Slider:
    """Return a slider for an amount of money.

    It goes from 0 to three times the scenario's amount or more, at least to 10 currency units, in at most about 200
    round steps.
    """
    high = max(_REACH * value, _LEAST_REACH)
    step = next(size for size in (0.1, 0.5, 1, 5, 10, 50, 100, 500, 1_000, high) if high / size <= 200)
    return Slider(key, label, float(value), float(-(-high // step) * step), float(step))


@dataclass(frozen=True)
class SharedColumns:
    """Quasi-identifiers of the shared file, and the risk that it must respect.

    Parameters
    ----------
    column_of : mapping of str to str
        Column of each attribute.
    delimiter : str
        Character between the columns of the file.
    header : bool
        Whether the file has a header. Without one, columns are numbered from 1 and are shared under the attributes'
        names.
    hierarchies : mapping of str to Table
        Sections of hierarchies in files, by attribute; only attributes with a file are included.
    stars : frozenset of str
        Attributes with a true value ``*``, which the shared file renames to distinguish it from suppression.
    person : str or tuple of str, optional
        Column, or columns together, that identify the person of a record. By default each record is a person.
    counts_release : bool
        Whether success probabilities assume an adversary who knows which people are in the file and all their
        quasi-identifiers. Success probabilities counted in the shared file must then not exceed them.
    identifies : bool
        Whether success means naming the person of a record; False if an inferred sensitive value counts as success.
    """

    column_of: Mapping[str, str]
    delimiter: str = ","
    header: bool = True
    hierarchies: Mapping[str, Table] | None = None
    stars: frozenset[str] = frozenset()
    person: str | tuple[str, ...] | None = None
    counts_release: bool = True
    identifies: bool = True


class LimitedColumns(NamedTuple):
    """Sensitive columns, and the limits on their disclosure by a shared file.

    Attributes
    ----------
    attributes : tuple of SensitiveAttribute
        Values of all records of the release, by sensitive column.
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
        Least number of different values in an equivalence class; no value may be in more than 1/m of its rows.
    """

    name: str
    m: int


class Presentation:
    """Figures, captions, report sentences, controls, shared files and fast evaluation of a kind.

    A base class of `Kind`; each method has a default. Results and stored runs (`RunResult`, `StoredRun`) are passed as
    they are. To share a file of records, a kind needs only `release_file` if each name in the scenario's ``attributes``
    is both a column of the file and, with the released values, a column of the table of records. By default, a kind is
    not solved under other payoff parameters without a run for each (`amount_points`).

    Attributes
    ----------
    drawn_by : str
        Name of the module that may define `run_figures` and `sweep_figures`, which draw figures specific to the kind;
        empty if there is no such module.
    """

    drawn_by: str = ""

    @cached_property
    def captions(self) -> Mapping[str, str]:
        """Captions of the kind's figures and tables, by name.

        They are read from ``captions.toml`` in the folder of the kind's module.
        """
        file = getattr(sys.modules[type(self).__module__], "__file__", None)
        path = None if file is None else Path(file).with_name("captions.toml")
        return {} if path is None or not path.is_file() else read_toml(path)

    def asked(self, run: Any) -> Iterator[Sentence]:
        """Yield report sentences on the kind, adversaries, payoffs and beliefs."""
        yield ("A study of the kind ", Code(str(run.content.get("game"))), ".")
        if "economics" in run.content:
            yield from adversaries(run, plan)
            yield from by_generalization(run, "publisher")

    def figures(self, result: Any) -> Figures | None:
        """Return the figures of a run that are specific to the kind, with names.

        The result is None if there are none. The figures of all kinds are in `reidsim.figures.by_policy`.
        """
        return self._drawn("run_figures", result)

    def sweep_figures(self, result: Any) -> Figures | None:
        """Return the figures of a batch that are specific to the kind, with names.

        They replace the figures of all kinds (`reidsim.figures.sweep.sweep_figures`), which are drawn if the result is
        None.
        """
        return self._drawn("sweep_figures", result)

    def _drawn(self, name: str, result: object) -> Figures | None:
        # Imported here because the drawing libraries are slow to import.
        draw = getattr(import_module(self.drawn_by), name, None) if self.drawn_by else None
        figures: Figures | None = None if draw is None else draw(result)
        return figures

    def controls(self, scenario: Any) -> Iterator[Control]:
        """Yield the controls of the browser page.

        There is one for each amount of money and each numeric key of the kind.
        """
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
        """Return whether a scenario is played in repeated rounds."""
        return getattr(scenario, "agents", None) is not None

    def agents_of(self, scenario: Any) -> AgentsSection:
        """Return the section ``agents``; by default one round with one adversary."""
        return getattr(scenario, "agents", None) or AgentsSection()

    def attacker(self, scenario: Any, name: str) -> tuple[str, str | None]:
        """Return the planner and the knowledge recipe of an adversary.

        The recipe is None if the adversary has none.
        """
        section = getattr(scenario, "adversaries", {}).get(name, getattr(scenario, "adversary", None))
        return getattr(section, "planner", "one-shot"), getattr(section, "knowledge", None)

    def is_by_record(self, scenario: Any, price: Literal["gain", "cost"]) -> bool:
        """Return whether the adversary's gain or cost differs between records."""
        return False

    def decision(self, scenario: Any) -> str:
        """Describe the sharing decision in a round, as a phrase.

        The text is empty if the decision is the usual one, the strategy of each record.
        """
        return ""

    # Many points

    def amounts_at_once(self, scenario: Any, keys: Sequence[str]) -> bool:
        """Return whether `amount_points` evaluates points that differ in these keys only.

        `keys` are the key paths that vary. Each point then takes milliseconds.
        """
        return False

    def plans_under_amounts(self, scenario: Any) -> bool:
        """Return whether `amount_points` supports the studies of a scenario."""
        return False

    def amount_points(self, study: Any) -> Any:
        """Return a planner for any payoff parameters; None if not supported.

        Linkage is computed once. The planner has the attribute ``study`` and two methods: ``plan(policy, believed)``
        chooses strategies under the believed economics, ``play(strategies)`` takes given strategies. Both return an
        object with ``strategies``, ``one_shot_success`` (None if the adversary is not one-shot) and
        ``equilibrium(truth)``, the outcome under the true economics.
        """
        return None

    def takes_best(self, scenario: Any, policy: str) -> bool:
        """Return whether a policy always picks the best plan from a fixed set of plans.

        The set is fixed if it does not depend on the publisher's benefit and loss. The policy's payoff is then the
        highest one of any plan in the set.
        """
        return False

    def largest_group(self, study: Any) -> int | None:
        """Return the largest group size, in people, if attacks depend on group size alone.

        In this case an attack is profitable if the gain, divided by the group size, exceeds the cost. Otherwise the
        result is None.
        """
        return None

    # Shared files

    def release_file(self, scenario: Any) -> str | None:
        """Return the path of the file with the shared records, as written in the scenario.

        The result is None if there is none.
        """
        return None

    def shared_columns(self, scenario: Any) -> SharedColumns:
        """Return the quasi-identifiers in the shared file.

        Raises
        ------
        InputError
            If the shared records differ from the records of the file.
        """
        person = getattr(getattr(scenario, "release", None), "person", None)
        return SharedColumns({str(name): str(name) for name in getattr(scenario, "attributes", ())}, person=person)

    def sensitive_column(self, scenario: Any, policy: str) -> SensitiveColumn | None:
        """Return the column that a policy protects from inference; None if none."""
        return None

    def limited_columns(
        self,
        scenario: Any,
        frame: pd.DataFrame,
        path: Path,
        hierarchies: Callable[[], Mapping[str, list[list[str]]]],
    ) -> LimitedColumns | None:
        """Return the sensitive columns with disclosure limits; None without limits.

        Parameters
        ----------
        scenario : ScenarioHead
        frame : DataFrame
            All columns of the file of records.
        path : Path
            Path of this file.
        hierarchies : callable
            Returns the rows of the hierarchy files that `shared_columns` names.
        """
        return None

    def read_records(self, scenario: Any, path: Path) -> pd.DataFrame:
        """Return all columns of the shared file, with values unchanged."""
        return read_table(path, trim=False)

    def true_values(self, scenario: Any, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
        """Return the true quasi-identifiers of a file's records, one column per attribute.

        Values are as released without generalization, as text.
        """
        columns = self.shared_columns(scenario).column_of
        return pd.DataFrame({name: frame[column].str.strip() for name, column in columns.items()})

    def released_values(self, scenario: Any, records: pd.DataFrame, attribute: str) -> pd.Series[str]:
        """Return an attribute as a policy releases it, ``*`` where it is suppressed.

        Parameters
        ----------
        scenario : ScenarioHead
        records : DataFrame
            Rows of the table of records for the policy.
        attribute : str
        """
        column = records[attribute]
        if not isinstance(column.dtype, pd.CategoricalDtype):
            return column.astype("str").mask(column.isna(), SUPPRESSED)
        # Convert the few categories to text instead of every record. A missing value has code -1, which selects the
        # last label.
        labels = pd.array([*column.cat.categories.astype("str"), SUPPRESSED], dtype="str")
        return pd.Series(labels.take(column.cat.codes.to_numpy()), column.index, name=attribute)

    def is_shared(self, records: pd.DataFrame) -> NDArray[np.bool_]:
        """Return which rows of the table of records are not withheld, shape (n_records,)."""
        return np.asarray(records["strategy"] != "withheld")
