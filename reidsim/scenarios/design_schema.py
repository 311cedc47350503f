"""Schema of batches: replications, sweeps over keys, and uncertain parameters; points along one key of a sweep."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from reidsim.core.plain_data import value_at
from reidsim.errors import InputError, refuse_first, require_among, require_distinct
from reidsim.scenarios.read_keys import ReadIf
from reidsim.validation import Section

# Keys that must be the same at every point: they describe the batch, the outputs of a single run, or the game.
FIXED_KEYS = ("game", "seed", "replications", "sweep", "uncertainty", "stress", "figures", "title", "source")
# A larger sweep is almost certainly a mistake, such as a grid over too many keys.
MOST_POINTS = 1_000_000

Replications = Annotated[int, Field(ge=1, le=1_000_000)]


class SweepValues(Section):
    """Values of one key: a list, or evenly spaced numbers between two bounds.

    A list can be written directly as the value of the key, or as `values` in a section.

    Attributes
    ----------
    start
        first value
    stop
        last value, larger than the first
    points
        number of values
    scale
        spacing of the values: equal differences, or equal ratios
    listed
        list of the values
    """

    start: float | None = Field(default=None, alias="from")
    stop: float | None = Field(default=None, alias="to")
    points: Annotated[int, Field(ge=2, le=100_000)] | None = None
    scale: Annotated[
        Literal["linear", "log"], ReadIf(lambda section, scenario: section.listed is None, "with from and to")
    ] = "linear"
    listed: tuple[Any, ...] | None = Field(default=None, alias="values")

    @model_validator(mode="before")
    @classmethod
    def _plain_list(cls, data: Any) -> Any:
        data = {"values": data} if isinstance(data, list) else data
        if not isinstance(data, dict):
            raise InputError("values missing", found=data, expected="a list of values, or from, to and points")
        listed_values = data.get("values")
        return {**data, "values": tuple(listed_values)} if isinstance(listed_values, list) else data

    @model_validator(mode="after")
    def _one_kind(self) -> SweepValues:
        start, stop, listed = self.start, self.stop, self.listed
        spaced = [part for part in (start, stop, self.points) if part is not None]
        interval, order = "from, to and points", "a value of from below the value of to"
        both, log_scale = "both a list and an interval of values", "a logarithmic scale needs numbers above 0"
        is_log = self.scale == "log" and listed is None
        refuse_first(
            (listed is not None and spaced, both, None, None, f"either values, or {interval}"),
            (listed == (), "the list of values is empty", None, None, "at least one value"),
            (listed is None and len(spaced) < 3, "incomplete range", None, None, f"a list of values, or {interval}"),
            (start is not None and stop is not None and start >= stop, "empty range", None, [start, stop], order),
            (start is not None and start <= 0 and is_log, log_scale, "from", start, None),
        )
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Allow a plain list in the JSON Schema."""
        return {"anyOf": [handler(schema), {"type": "array", "minItems": 1}]}

    @property
    def examples(self) -> tuple[Any, ...]:
        """The first value, and all other listed values that are not numbers.

        Whether keys are read depends only on these; see `read_keys.changes_within`.
        """
        return (self.start,) if self.listed is None else _without_further_numbers(self.listed)

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.listed) if self.listed is not None else self.points or 0


class SweepSection(Section):
    """Values of scenario keys at each point of a batch.

    Attributes
    ----------
    values
        values of each key, by key path
    together
        groups of keys that change together; all other keys are combined in every way
    one_at_a_time
        keys that change one at a time, while the others keep the scenario's values
    """

    values: dict[str, SweepValues] = Field(min_length=1)
    together: tuple[tuple[str, ...], ...] = ()
    one_at_a_time: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> SweepSection:
        _check_keys(self.values, "values")
        for key, values in self.values.items():
            repeated = _first_repeated(values.listed or ())
            is_wrong = repeated is not None and not any(key in group for group in self.together)
            refuse_first((is_wrong, "value given twice", f"values.{key}", repeated, None))
        require_distinct("key in two groups", (key for group in self.together for key in group), where="together")
        for number, group in enumerate(self.together):
            where = f"together[{number}]"
            require_among("the key has no values in the sweep", group, self.values, where=where)
            found = ", ".join(f"{key}: {self.values[key].size}" for key in group)
            differ = len({self.values[key].size for key in group}) > 1
            problem = "keys that change together have different numbers of values"
            refuse_first((differ, problem, where, found, None))
        where, in_turn = "one_at_a_time", self.one_at_a_time
        require_among("the key has no values in the sweep", in_turn, self.values, where=where)
        too_few = len(in_turn) == 1 or len(set(in_turn)) < len(in_turn)
        self.refuse_if(too_few, "too few keys", where, "two or more distinct keys", found=list(in_turn))
        for group in self.together:
            is_wrong = 0 < sum(key in in_turn for key in group) < len(group)
            expected = "all keys that change together, or none of them"
            self.refuse_if(is_wrong, "only some keys of a group", where, expected, found=list(group))
        n, expected = self.n_points, f"at most {MOST_POINTS:,}"
        self.refuse_if(n > MOST_POINTS, "too many points", "values", expected, found=n)
        return self

    @property
    def n_points(self) -> int:
        """Number of points, before repeated points of a one-at-a-time sweep are left out."""
        return math.prod(sum(self.values[group[0]].size for group in axis) for axis in self.axes)

    @property
    def axes(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        """The axes of the grid, in the order of the keys in the scenario.

        The last axis changes fastest. An axis is a tuple of groups, a group a tuple of keys that change together.
        Either it holds one group, or all groups that change one at a time.
        """
        group_of = {key: group for group in self.together for key in group}
        groups = tuple(dict.fromkeys(group_of.get(key, (key,)) for key in self.values))
        in_turn = tuple(group for group in groups if group[0] in self.one_at_a_time)
        return tuple(dict.fromkeys(in_turn if group in in_turn else (group,) for group in groups))


def _without_further_numbers(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the first value, and all other values that are not numbers."""
    return (*values[:1], *(value for value in values[1:] if isinstance(value, bool | str | list | dict)))


class _Uncertain(Section):
    """Keys shared by all distributions.

    Attributes
    ----------
    whole
        whether to round to whole numbers, for keys that are counts
    """

    whole: bool = False

    @property
    def examples(self) -> tuple[Any, ...]:
        """Example values of the distribution.

        For `Discrete`, the first value and all that are not numbers; otherwise one central value.
        """
        if isinstance(self, Discrete):
            return _without_further_numbers(self.values)
        center = next(getattr(self, key) for key in ("mode", "median", "mean", "low") if hasattr(self, key))
        return (round(center) if self.whole else center,)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        low, high = getattr(self, "low", None), getattr(self, "high", None)
        is_empty = low is not None and high is not None and low >= high
        expected = "a value of low below the value of high"
        self.refuse_if(is_empty, "empty interval", "low", expected, found=[low, high])
        return self


class Uniform(_Uncertain):
    """A uniform distribution: all values of an interval are equally likely.

    Attributes
    ----------
    distribution
        uniform: all values are equally likely
    low
        lower or upper bound
    high
        lower or upper bound
    """

    distribution: Literal["uniform"]
    low: float
    high: float


class LogUniform(_Uncertain):
    """A log-uniform distribution: all orders of magnitude are equally likely.

    Attributes
    ----------
    distribution
        log-uniform: all orders of magnitude are equally likely
    low
        smallest value
    high
        largest value
    """

    distribution: Literal["log-uniform"]
    low: Annotated[float, Field(gt=0)]
    high: float


class Normal(_Uncertain):
    """A normal distribution, truncated at the bounds that are given.

    Attributes
    ----------
    distribution
        normal, truncated at the bounds
    mean
        mean before truncation
    sd
        standard deviation before truncation
    low
        bound of the truncation; default: none
    high
        bound of the truncation; default: none
    """

    distribution: Literal["normal"]
    mean: float
    sd: Annotated[float, Field(gt=0)]
    low: float | None = None
    high: float | None = None


class LogNormal(_Uncertain):
    """A lognormal distribution, truncated at the bounds that are given.

    Attributes
    ----------
    distribution
        lognormal, truncated at the bounds
    median
        median before truncation
    sigma
        standard deviation of the natural logarithm before truncation
    low
        lower bound of the truncation; default: none
    high
        upper bound of the truncation; default: none
    """

    distribution: Literal["lognormal"]
    median: Annotated[float, Field(gt=0)]
    sigma: Annotated[float, Field(gt=0)]
    low: Annotated[float, Field(ge=0)] | None = None
    high: Annotated[float, Field(gt=0)] | None = None


class Triangular(_Uncertain):
    """A triangular distribution.

    Attributes
    ----------
    distribution
        triangular
    low
        smallest value
    mode
        most likely value
    high
        largest value
    """

    distribution: Literal["triangular"]
    low: float
    mode: float
    high: float

    @model_validator(mode="after")
    def _mode_within(self) -> Triangular:
        is_outside = not self.low <= self.mode <= self.high
        self.refuse_if(is_outside, "mode outside the interval", "mode", "a number from low to high")
        return self


class Beta(_Uncertain):
    """A beta distribution between two bounds.

    Attributes
    ----------
    distribution
        beta, scaled to the interval between the bounds
    a
        first shape parameter
    b
        second shape parameter
    low
        lower bound
    high
        upper bound
    """

    distribution: Literal["beta"]
    a: Annotated[float, Field(gt=0)]
    b: Annotated[float, Field(gt=0)]
    low: float = 0.0
    high: float = 1.0


class Discrete(_Uncertain):
    """A discrete distribution over listed values, which need not be numbers.

    Attributes
    ----------
    distribution
        discrete: one of the listed values, which need not be numbers
    values
        possible values
    weights
        relative probability of each value; default: equal
    """

    distribution: Literal["discrete"]
    values: tuple[Any, ...] = Field(min_length=1)
    weights: tuple[Annotated[float, Field(ge=0)], ...] | None = None

    @model_validator(mode="after")
    def _weighted(self) -> Discrete:
        weights, n = self.weights, len(self.values)
        if weights is not None:
            problem = "the number of weights differs from the number of values"
            expected = f"{n} weights, one for each value"
            self.refuse_if(len(weights) != n, problem, "weights", expected, found=len(weights))
            expected = "a weight above 0"
            self.refuse_if(sum(weights) <= 0, "all weights are 0", "weights", expected, found=list(weights))
        return self


Distribution = Annotated[
    Uniform | LogUniform | Normal | LogNormal | Triangular | Beta | Discrete, Field(discriminator="distribution")
]


class CorrelationSection(Section):
    """The rank correlation of two uncertain parameters.

    Attributes
    ----------
    keys
        key paths of the two parameters
    rank
        Spearman's rank correlation
    """

    keys: tuple[str, str]
    rank: Annotated[float, Field(gt=-1, lt=1)]


class UncertaintySection(Section):
    """Distributions of uncertain parameters.

    Attributes
    ----------
    parameters
        distribution of each uncertain parameter, by key path; in stress tests also a discrete distribution of
        `adversary` over the adversaries of cross-play
    samples
        number of points drawn
    method
        sampling method; with `sobol`, `samples` must be a power of 2
    correlations
        correlations between pairs of parameters; all other pairs are independent
    """

    parameters: dict[str, Distribution] = Field(min_length=1)
    samples: Annotated[int, Field(ge=1, le=MOST_POINTS)] = 100
    method: Literal["latin-hypercube", "sobol", "random"] = "latin-hypercube"
    correlations: tuple[CorrelationSection, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> UncertaintySection:
        _check_keys(self.parameters, "parameters")
        expected = f"a power of 2 for a Sobol sequence, such as {2 ** self.samples.bit_length():,}"
        is_wrong = self.method == "sobol" and self.samples & (self.samples - 1)
        self.refuse_if(is_wrong, "the number of samples is not a power of 2", "samples", expected)
        pairs: set[frozenset[str]] = set()
        for number, correlation in enumerate(self.correlations):
            where = f"correlations[{number}]"
            require_among("no such uncertain parameter", correlation.keys, self.parameters, where=where)
            pair, found = frozenset(correlation.keys), list(correlation.keys)
            refuse_first(
                (pair in pairs, "correlation given twice", where, found, None),
                (len(pair) < 2, "correlation of a parameter with itself", where, found, None),
            )
            pairs.add(pair)
        return self


def check_design(sweep: SweepSection | None, uncertainty: UncertaintySection | None, replications: int) -> None:
    """Check the number of runs, and that no key is both swept and uncertain.

    The number of runs is the product of points, samples and replications; at most `MOST_POINTS` are allowed.

    Raises
    ------
    InputError
        If there are too many runs, or a key is both swept and uncertain; the message names the key.
    """
    numbers = {
        "sweep.values": 1 if sweep is None else sweep.n_points,
        "uncertainty.samples": 1 if uncertainty is None else uncertainty.samples,
        "replications": replications,
    }
    runs = math.prod(numbers.values())
    found = " x ".join(f"{number:,} of {key}" for key, number in numbers.items() if number > 1)
    most, expected = max(numbers, key=lambda key: numbers[key]), f"at most {MOST_POINTS:,}"
    refuse_first((runs > MOST_POINTS, "too many runs", most, f"{runs:,} ({found})", expected))
    swept = () if sweep is None else sweep.values
    for key in () if uncertainty is None else uncertainty.parameters:
        is_swept, where = any(_overlap(key, other) for other in swept), f"uncertainty.parameters.{key}"
        expected = "the key in either sweep or uncertainty"
        refuse_first((is_swept, "key both swept and uncertain", where, None, expected))


def rows_along(
    table: pd.DataFrame, in_turn: Sequence[Sequence[str]], group: Sequence[str], content: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the rows of a sweep along one group of keys that change one at a time.

    In these rows, the keys of all other groups in `in_turn` have the scenario's own values.

    Parameters
    ----------
    table : DataFrame
        One row per point, one column per key.
    in_turn : sequence of sequence of str
        Groups of keys that change one at a time.
    group : sequence of str
        The group in `in_turn` along which rows are selected.
    content : mapping
        The scenario as plain data.
    """
    for key in (key for other in in_turn if list(other) != list(group) for key in other):
        own = value_at(content, key)
        # The table stores values other than text as JSON, unless the whole column is numeric.
        if not pd.api.types.is_numeric_dtype(table[key].dtype) and not isinstance(own, str):
            own = json.dumps(own, default=str)
        table = table[table[key] == own]
    return table


def value_labels(column: pd.Series[Any]) -> tuple[pd.Series[Any], str]:
    """Return the values of a key as text, and a suffix for the key's name.

    If all values are lists of different lengths, the text is the length and the suffix is " (how many)". Otherwise the
    suffix is empty and the text is the value. Values that are sections of the scenario are shown as "given", with a
    number if there are several.
    """
    texts = column.astype(str)
    tables = [text for text in texts.unique() if text.startswith("{")]
    texts = texts.replace({text: f"given {n}" if len(tables) > 1 else "given" for n, text in enumerate(tables, 1)})
    lists = {text: json.loads(text) for text in texts.unique() if text.startswith("[")}
    lengths = {text: str(len(entries)) for text, entries in lists.items()}
    if len(set(lengths.values())) == texts.nunique():
        return texts.map(lengths), " (how many)"
    return texts, ""


def _check_keys(keys: Iterable[str], where: str) -> None:
    """Refuse keys that cannot vary between points, or that contain each other."""
    seen: list[str] = []
    for key in keys:
        expected, path = "keys separated by dots, such as economics.loss", f"{where}.{key}"
        refuse_first((not all(key.split(".")), "not a key path", where, key, expected))
        if key.split(".")[0] in FIXED_KEYS:
            hint = "use replications for different random draws" if key == "seed" else None
            raise InputError("key cannot change within a batch", where=path, hint=hint)
        inside = next((other for other in seen if _overlap(key, other)), None)
        refuse_first((inside is not None, "one key contains the other", path, inside, None))
        seen.append(key)


def _first_repeated(values: Sequence[Any]) -> Any:
    """Return the first value that equals an earlier one, or None.

    Lists and sections are compared one by one, because they are not hashable.
    """
    seen: set[Any] = set()
    for number, value in enumerate(values):
        is_hashable = not isinstance(value, list | dict)
        if value in (seen if is_hashable else values[:number]):
            return value
        if is_hashable:
            seen.add(value)
    return None


def _overlap(key: str, other: str) -> bool:
    """Return whether two key paths are equal or one contains the other."""
    return f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")
