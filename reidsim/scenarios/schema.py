"""Keys of scenario files of every kind, and the conditions under which a study reads keys.

Keys that have no effect are refused. There is one section class per TOML table. Batches have replications,
sweeps over keys, and uncertain parameters. Stress tests analyse sensitivity, robustness, discovery of bad outcomes,
wrong beliefs and the best policy over two parameters.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import pandas as pd
from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from reidsim.adversaries.response import EXPECTED_PAYOFF, planners_without
from reidsim.core.errors import InputError, refuse_first, require_among, require_distinct
from reidsim.core.validation import ReadIf, Section, merged, overlap, override, value_at, value_if_any, with_key
from reidsim.core.wording import columns_of
from reidsim.games.outcomes import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, RISK, SHARE_ATTACKED, UTILITY
from reidsim.populations.population import Delimiter, Money, Seed, Share, exactly_one

__all__ = ["Count", "Delimiter", "Money", "PersonKey", "PopulationSeed", "ReadIf", "Seed", "Share", "Text", "with_key"]

Count = Annotated[int, Field(ge=1)]
PopulationSeed = Annotated[
    Seed | None, Field(description="random seed of the population; default: the seed of its recipe")
]
Text = Annotated[str, Field(min_length=1)]
# One column, or several columns whose combined values identify a person.
PersonKey = Text | Annotated[tuple[Text, ...], Field(min_length=2)]


def distinct(problem: str) -> AfterValidator:
    """Return the pydantic validator of a list in which no entry may occur twice.

    For a repeated entry, it raises an `InputError` with the text `problem`. None passes.
    """

    def checked(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        require_distinct(problem, values or ())
        return values

    return AfterValidator(checked)


# Patterns of key paths that cross-play reads: it adds planners and policies that the scenario does not name.
READ_BY_CROSS_PLAY = (
    *("adversary.sequential*", "adversaries.*.sequential*", "adversary.testing*", "adversaries.*.testing*"),
    *("publisher.*", "subjects.*", "safe_harbor*"),
)


_NOT_TAKEN = ReadIf(lambda section, scenario: False, "with a section of [adversaries] that does not set the key itself")


def unread_keys(
    scenario: Any, content: Mapping[str, Any], validated: Callable[[Mapping[str, Any]], Any]
) -> tuple[dict[str, ReadIf], dict[str, str]]:
    """Return the keys that no point of a scenario reads.

    Sweeps, uncertain keys and stress tests change keys. Each change is examined alone and combined with the first
    values of all other swept and uncertain keys.

    Parameters
    ----------
    scenario : ScenarioHead
    content : mapping
        The plain data of the scenario, with defaults not yet copied.
    validated : callable
        Returns the scenario of other plain data, or raises `InputError`.

    Returns
    -------
    dict of str to ReadIf
        The first condition that fails, by key path.
    dict of str to str
        Key path of the section that varies each swept or uncertain key, such as ``sweep.values``.
    """
    alone, swept = _changes_within(scenario)
    first = {key: value for values in reversed(alone) for key, value in values.items() if key in swept}
    found = _conditions_of(scenario, content)
    for values in (*alone, *(first | values for values in alone)):
        other = deepcopy(dict(content))
        # A value may be valid only together with values of other keys.
        with suppress(InputError):
            override(other, values)
            for where, failed in _conditions_of(validated(other), other).items():
                found[where] = found.get(where, failed) and failed
    return {where: failed for where, failed in found.items() if failed is not None}, swept


def _changes_within(scenario: Any) -> tuple[list[dict[str, object]], dict[str, str]]:
    """Return changes of keys, and the section that varies each swept key.

    Changes are by sweeps, uncertainty and stress tests. Each change maps key paths to values. Of a key's values, only
    the first and those that are not numbers are used, because conditions depend on names and on whether a key is set,
    not on the size of a number.
    """
    sweep, uncertainty, stress = scenario.sweep, scenario.uncertainty, scenario.stress
    alone: list[dict[str, object]] = []
    swept: dict[str, str] = {}
    for group in () if sweep is None else (*sweep.together, *((key,) for key in sweep.values)):
        swept |= dict.fromkeys(group, "sweep.values")
        each = {key: sweep.values[key].examples for key in group}
        for number in range(max(map(len, each.values()))):
            alone.append({key: values[min(number, len(values) - 1)] for key, values in each.items()})
    if uncertainty is not None:
        # The values of an uncertain `adversary` are names instead of sections; some of the names are planners.
        paths = {"adversary.planner" if key == "adversary" else key: d for key, d in uncertainty.parameters.items()}
        swept |= dict.fromkeys(paths, "uncertainty.parameters")
        alone += [{path: value} for path, distribution in paths.items() for value in distribution.examples]
    if stress is not None:
        axes = () if stress.map is None else ((each.key, each.values) for each in (stress.map.x, stress.map.y))
        beliefs = ((each.key, values) for each in stress.beliefs for values in (each.true, each.believed) if values)
        alone += [{key: value} for key, values in (*axes, *beliefs) for value in values.examples]
    return alone, swept


def _conditions_of(scenario: Any, content: Mapping[str, Any]) -> dict[str, ReadIf | None]:
    """Return the first failed condition of each key of a scenario, by key path.

    It is None if the key is read. Keys below a key that is not read are left out. If the content has both
    ``[adversary]`` and ``[adversaries]``, a key of ``[adversary]`` is read if at least one named adversary inherits and
    reads it.
    """
    whole = type(scenario).spelled_out(content)
    found = dict(_conditions(scenario, whole, "", scenario))
    if whole is content:
        return found
    own, defaults = dict[str, ReadIf | None](), dict[str, ReadIf | None]()
    for where, failed in found.items():
        section, _, key = where.partition(".")
        if section != "adversaries" or has_key(content, where):
            own[where] = failed
        else:
            default = f"adversary.{key.partition('.')[2]}"
            defaults[default] = defaults.get(default, failed) and failed
    taken = {default.split(".")[1].partition("[")[0] for default in defaults}
    return {f"adversary.{key}": _NOT_TAKEN for key in content["adversary"] if key not in taken} | own | defaults


@cache
def _keys_of(section: type[Section]) -> dict[str, tuple[str, tuple[ReadIf, ...]]]:
    """Return the field name and the conditions of each key of a class of sections."""
    return {
        field.alias or name: (name, tuple(each for each in field.metadata if isinstance(each, ReadIf)))
        for name, field in section.model_fields.items()
    }


def _conditions(value: Any, data: Any, where: str, scenario: Any) -> Iterator[tuple[str, ReadIf | None]]:
    """Yield the path of each key in the data of a section, with its failed condition.

    `value` is the validated section, mapping or list, `data` are its plain data and `where` is its key path. The
    condition is the first that fails, or None if the key is read; only then follow the keys below it. Keys with value
    None are skipped.
    """
    if isinstance(value, Section) and isinstance(data, Mapping):
        keys = _keys_of(type(value))
        # An override with the value None unsets a key.
        for key in (key for key, given in data.items() if key in keys and given is not None):
            (name, own), path = keys[key], f"{where}.{key}" if where else key
            general = (each for pattern, each in scenario.read_if.items() if fnmatchcase(path, pattern))
            failed = next((each for each in (*own, *general) if not each.holds(value, scenario)), None)
            yield path, failed
            if failed is None:
                yield from _conditions(getattr(value, name), data[key], path, scenario)
    elif isinstance(value, Mapping) and isinstance(data, Mapping):
        for name in data:
            yield from _conditions(value.get(name), data[name], f"{where}.{name}", scenario)
    elif isinstance(value, list | tuple) and isinstance(data, list | tuple):
        for number, (each, its_data) in enumerate(zip(value, data, strict=False)):
            yield from _conditions(each, its_data, f"{where}[{number}]", scenario)


def has_key(content: Mapping[str, Any], where: str) -> bool:
    """Return whether plain data set a key path to a value other than None.

    Only the part of the path before its first position in a list is considered.
    """
    return value_if_any(content, where.partition("[")[0]) is not None


# Keys that must be the same at every point: they describe the batch, the outputs of a single run, or the game.
FIXED_KEYS = ("game", "seed", "replications", "sweep", "uncertainty", "stress", "figures", "title", "source")
# A larger sweep is almost certainly a mistake, such as a grid over too many keys.
MOST_POINTS = 1_000_000

Criterion = Literal["maximin", "minimax-regret", "quantile"]
Level = Annotated[float, Field(gt=0, lt=1)]
_DEFAULT_OUTPUTS = tuple(columns_of((PUBLISHER_PAYOFF, ADVERSARY_PAYOFF, UTILITY, SHARE_ATTACKED, RISK)))


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
        return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        start, stop, interval = self.start, self.stop, "from, to and points"
        bounds = [part for part in (start, stop, self.points) if part is not None]
        both, few = self.listed is not None and bounds, self.listed is None and len(bounds) < 3
        refuse_first(
            (both, "both a list and an interval of values", None, None, f"either values, or {interval}"),
            (self.listed == (), "the list of values is empty", None, None, "at least one value"),
            (few, "incomplete range", None, None, f"a list of values, or {interval}"),
        )
        if start is not None and stop is not None:
            is_log, order = self.scale == "log", "a value of from below the value of to"
            refuse_first(
                (start >= stop, "empty range", None, [start, stop], order),
                (is_log and start <= 0, "a logarithmic scale needs numbers above 0", "from", start, None),
            )
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Allow a plain list in the JSON Schema."""
        return {"anyOf": [handler(schema), {"type": "array", "minItems": 1}]}

    @property
    def examples(self) -> tuple[Any, ...]:
        """The first value, and all other listed values that are not numbers.

        Of an interval of values, only the first one. Whether keys are read depends only on these; see `unread_keys`.
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
    def _consistent(self) -> Self:
        _check_keys(self.values, "values")
        grouped, in_turn = [*itertools.chain(*self.together)], self.one_at_a_time
        for key, values in self.values.items():
            # Lists and sections are not hashable.
            texts = [json.dumps(v) if isinstance(v, list | dict) else v for v in values.listed or ()]
            require_distinct("value given twice", () if key in grouped else texts, where=f"values.{key}")
        require_distinct("key in two groups", grouped, where="together")
        for where, keys in (("together", grouped), ("one_at_a_time", in_turn)):
            require_among("the key has no values in the sweep", keys, self.values, where=where)
        split = next(([*group] for group in self.together if 0 < len(set(group) & set(in_turn)) < len(group)), None)
        sizes = [{key: self.values[key].size for key in group} for group in self.together]
        uneven = next(
            (", ".join(f"{key}: {n}" for key, n in each.items()) for each in sizes if len({*each.values()}) > 1), None
        )
        whole = "all keys that change together, or none of them"
        few, n = len(in_turn) == 1 or len({*in_turn}) < len(in_turn), self.n_points
        return self.unless(
            (few, "too few keys", "one_at_a_time", "two or more distinct keys", [*in_turn]),
            (uneven, "keys that change together have different numbers of values", "together", None, uneven),
            (split, "only some keys of a group", "one_at_a_time", whole, split),
            (n > MOST_POINTS, "too many points", "values", f"at most {MOST_POINTS:,}", n),
        )

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
        bounds = [bound for name in ("low", "high") if (bound := getattr(self, name, None)) is not None]
        is_empty = bounds != sorted(set(bounds))
        return self.unless((is_empty, "empty interval", "low", "a value of low below the value of high", bounds))


class Uniform(_Uncertain):
    """A uniform distribution: all values of an interval are equally likely.

    Attributes
    ----------
    distribution
        uniform: all values are equally likely
    low
        lower bound
    high
        upper bound
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
        lower bound of the truncation; default: none
    high
        upper bound of the truncation; default: none
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
    def _mode_within(self) -> Self:
        is_outside = not self.low <= self.mode <= self.high
        return self.unless((is_outside, "mode outside the interval", "mode", "a number from low to high"))


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
    def _weighted(self) -> Self:
        weights, n = self.weights or (1.0,) * len(self.values), len(self.values)
        problem = "the number of weights differs from the number of values"
        return self.unless(
            (len(weights) != n, problem, "weights", f"{n} weights, one for each value", len(weights)),
            (sum(weights) <= 0, "all weights are 0", "weights", "a weight above 0", list(weights)),
        )


Distribution = Annotated[
    Uniform | LogUniform | Normal | LogNormal | Triangular | Beta | Discrete, Field(discriminator="distribution")
]


class CorrelationSection(Section):
    """The rank correlation with which two uncertain parameters are drawn.

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
    def _consistent(self) -> Self:
        _check_keys(self.parameters, "parameters")
        keys, n = [tuple(sorted(each.keys)) for each in self.correlations], self.samples
        require_among("no such uncertain parameter", itertools.chain(*keys), self.parameters, where="correlations")
        require_distinct("correlation given twice", keys, where="correlations")
        itself = next((pair for pair in keys if pair[0] == pair[1]), None)
        problem, is_wrong = "the number of samples is not a power of 2", self.method == "sobol" and n & (n - 1)
        return self.unless(
            (is_wrong, problem, "samples", f"a power of 2 for a Sobol sequence, such as {2 ** n.bit_length():,}"),
            (itself, "correlation of a parameter with itself", "correlations", None, itself),
        )


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

    `column` holds the value at each point, lists and sections as JSON text. If all values are lists of different
    lengths, the text is the length and the suffix is " (how many)". Otherwise the suffix is empty and the text is the
    value. Values that are sections of the scenario are shown as "given", with a number if there are several.
    """
    texts = column.astype(str)
    tables = [text for text in texts.unique() if text.startswith("{")]
    texts = texts.replace({text: f"given {n}" if len(tables) > 1 else "given" for n, text in enumerate(tables, 1)})
    lists = {text: json.loads(text) for text in texts.unique() if text.startswith("[")}
    lengths = {text: str(len(entries)) for text, entries in lists.items()}
    if len(set(lengths.values())) == texts.nunique():
        return texts.map(lengths), " (how many)"
    return texts, ""


def _check_keys(keys: Collection[str], where: str) -> None:
    """Check that key paths can vary between points, and that none contains another.

    `where` is the section in messages. The first part of a key path must not be one of `FIXED_KEYS`.

    Raises
    ------
    InputError
        For the first key that is wrong or not a key path.
    """
    for number, key in enumerate(keys):
        expected, path = "keys separated by dots, such as economics.loss", f"{where}.{key}"
        refuse_first((not all(key.split(".")), "not a key path", where, key, expected))
        if key.split(".")[0] in FIXED_KEYS:
            hint = "use replications for different random draws" if key == "seed" else None
            raise InputError("key cannot change within a batch", where=path, hint=hint)
        inside = next((other for other in itertools.islice(keys, number) if overlap(key, other)), None)
        refuse_first((inside, "one key contains the other", path, inside, None))


# Keys of the methods that draw points.
_SAMPLED = with_key("method", "sobol", "morris")


class SensitivitySection(Section):
    """Sensitivity analysis: the effect of each uncertain parameter on the outputs.

    Attributes
    ----------
    method
        `sobol` computes indices that divide the variance among parameters; `morris` screens many parameters at less
        cost; `tornado` sets one parameter at a time to the ends of its range
    samples
        number N of base samples of `sobol` (a power of 2), or of trajectories of `morris`
    second_order
        with `sobol`: whether to compute indices of pairs, which takes N (2 d + 2) points for d parameters
    levels
        with `morris`: number of different values of each parameter
    confidence
        confidence level of the intervals
    resamples
        number of bootstrap resamples
    """

    method: Literal["sobol", "morris", "tornado"] = "sobol"
    samples: Annotated[int, Field(ge=2, le=2**20), _SAMPLED] = 128
    second_order: Annotated[bool, with_key("method", "sobol")] = False
    levels: Annotated[Literal[4, 6, 8, 10], with_key("method", "morris")] = 4
    confidence: Annotated[Level, _SAMPLED] = 0.95
    resamples: Annotated[int, Field(ge=10, le=100_000), _SAMPLED] = 200

    @model_validator(mode="after")
    def _power_of_two(self) -> Self:
        below = 1 << (self.samples.bit_length() - 1)
        is_wrong, expected = self.method == "sobol" and self.samples != below, f"{below} or {2 * below}"
        return self.unless((is_wrong, "the number of samples is not a power of 2", "samples", expected))


class RobustnessSection(Section):
    """Robustness analysis of policies, and of the strategies of each record.

    Attributes
    ----------
    samples
        number of parameter points; default: `uncertainty.samples`
    quantile
        with criterion `quantile`: level of the payoff quantile that is maximized; level 0 gives `maximin`
    criteria
        criteria that choose a robust strategy for each record
    """

    samples: Annotated[int, Field(ge=1, le=2**20)] | None = None
    quantile: Annotated[
        Share, ReadIf(lambda section, scenario: "quantile" in section.criteria, 'with "quantile" in criteria')
    ] = 0.1
    criteria: Annotated[tuple[Criterion, ...], distinct("criterion given twice")] = get_args(Criterion)


class DiscoverySection(Section):
    """Scenario discovery: boxes of parameter values with mostly bad outcomes.

    The boxes are computed by PRIM (patient rule induction) from the points of the robustness analysis.

    Attributes
    ----------
    output
        measure of the game, or `risk_quantile`, that defines a bad outcome
    policy
        policy whose outcome is examined; default: each policy
    below
        outcomes below this value are bad
    above
        outcomes above this value are bad
    restrictions
        largest number of parameters that bound a box
    smallest
        smallest share of the points that a box contains
    """

    output: str = PUBLISHER_PAYOFF.column
    policy: str | None = None
    below: float | None = None
    above: float | None = None
    restrictions: Annotated[int, Field(ge=1, le=20)] = 3
    smallest: Annotated[float, Field(gt=0, le=0.5)] = 0.05

    _one_side = exactly_one("below", "above", problem="the bound of bad outcomes is missing or given twice")


class BeliefCurveSection(Section):
    """Payoffs of policies by true and by believed value of one parameter.

    At least one of the two varies; the other one has the scenario's own value by default.

    Attributes
    ----------
    key
        key path of the parameter, such as `"economics.cost"` or `"resources.registry.size"`
    true
        true values; default: the scenario's value
    believed
        believed values; default: the scenario's belief
    """

    key: str = Field(min_length=1)
    true: SweepValues | None = None
    believed: SweepValues | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        varied = [values for values in (self.true, self.believed) if values is not None]
        for values in varied:
            SweepSection(values={self.key: values})
        return self.unless((not varied, "no values to vary", "", "true or believed values", None))


class AxisSection(Section):
    """One axis of a map.

    Attributes
    ----------
    key
        key path of the parameter, such as `"economics.loss"`
    values
        values along the axis
    """

    key: str = Field(min_length=1)
    values: SweepValues


class PolicyMapSection(Section):
    """A map of the best policy over two parameters.

    Attributes
    ----------
    x
        horizontal axis
    y
        vertical axis
    """

    x: AxisSection
    y: AxisSection

    @model_validator(mode="after")
    def _two_keys(self) -> Self:
        self.as_sweep()
        return self.unless((self.x.key == self.y.key, "both axes are the same parameter", "y.key", None))

    def as_sweep(self) -> SweepSection:
        """Return the points of the map as a sweep in which y changes fastest."""
        return SweepSection(values={axis.key: axis.values for axis in (self.x, self.y)})


class StressSection(Section):
    """Analyses of `reidsim stress`; default: sensitivity and robustness.

    Attributes
    ----------
    outputs
        outputs of the sensitivity analysis: measures, or `risk_quantile`
    policies
        policies to compare; default: all policies of the scenario
    planning
        planning of the publisher in the sensitivity analysis and the map: with the values at each point, or once with
        the scenario's values
    risk_level
        level of `risk_quantile`, the share of records whose risk does not exceed it; .05, .25, .5, .75 or .95 if points
        are runs of a batch
    sensitivity
        effect of each uncertain parameter on the outputs
    robustness
        payoffs of policies and of record strategies over all points
    discovery
        parameter values that lead to bad outcomes
    beliefs
        payoffs of publishers with wrong beliefs
    map
        best policy over two parameters
    guarantee
        whether to compute the smallest error in a belief that breaks the no-attack guarantee
    """

    outputs: Annotated[tuple[str, ...], distinct("output given twice")] = Field(default=_DEFAULT_OUTPUTS, min_length=1)
    policies: Annotated[tuple[str, ...], distinct("policy given twice")] = ()
    planning: Literal["informed", "as-believed"] = "informed"
    risk_level: Level = 0.95
    sensitivity: SensitivitySection | None = None
    robustness: RobustnessSection | None = None
    discovery: DiscoverySection | None = None
    beliefs: tuple[BeliefCurveSection, ...] = ()
    map: PolicyMapSection | None = None
    guarantee: bool = False

    @property
    def has_parts(self) -> bool:
        """Whether the section requests any analysis explicitly."""
        return any((self.sensitivity, self.robustness, self.discovery, self.map, self.beliefs, self.guarantee))


# Outcomes of a record, named as the arrays of an `Equilibrium`.
OUTCOME_COLUMNS = (
    "publisher_payoff",
    "adversary_payoff",
    "attacked",
    "success_probability",
    "utility",
    "generalization_intensity",
)
# Columns of records.parquet and of the table of a record's strategies, in addition to the attributes.
RECORD_COLUMNS = ("record", "policy", "strategy", *OUTCOME_COLUMNS)
# Columns of records.parquet after rounds: the rounds in which the person took part, and the record was released.
HISTORY_COLUMNS = ("took_part_in", "released_in")
# Names that no attribute may have, because a table with columns for attributes has other columns of these names.
RESERVED_NAMES = (
    *(*RECORD_COLUMNS, *HISTORY_COLUMNS, "participates", "point", "replication", "knowledge"),
    *("node", "records", "people", "suppressed", "class_size"),
)


class KeptSection(Section):
    """A column that is shared unchanged although its values differ between people.

    Attributes
    ----------
    known_to
        whether outsiders can know a person's value in the column: nobody, outsiders, or everyone, for a direct
        identifier, which is not shared
    reason
        reason why no outsider can know the values; printed in the report
    share
        whether the column is copied to the shared file, also without option `--keep`
    """

    known_to: Literal["nobody", "outsiders", "everyone"] = "outsiders"
    reason: Text | None = None
    share: bool = False

    @model_validator(mode="after")
    def _has_effect(self) -> KeptSection:
        unknown, has_reason = self.known_to == "nobody", bool((self.reason or "").strip())
        return self.unless(
            (unknown and not has_reason, "a declaration needs a reason", "reason", "why no outsider knows it"),
            (not unknown and self.reason is not None, "a reason needs a declaration", "known_to", "nobody"),
            (self.known_to == "outsiders" and not self.share, "the section has no effect", "share", "true"),
            (self.known_to == "everyone" and self.share, "a direct identifier is not shared", "share", "false"),
        )


# Keys that belong together. An adversary that sets a key of the first tuple inherits no key of the second tuple.
_SAID_TOGETHER = (
    (("planner",), ("planner", "rate", "parameters")),
    (("rationality",), ("rationality", "precision", "prospect")),
    (("knowledge", "stages"), ("knowledge", "stages", "resource", "overconfident", "holds")),
)


def spelled_out(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return scenario data with the defaults copied into each adversary's section.

    Subsections of an adversary are merged with the defaults key by key. Any other value of the adversary replaces the
    default. Some defaults are not copied: keys that belong to another key of the adversary (`_SAID_TOGETHER`; for
    example, an own ``planner`` inherits no ``rate``), rationality for a planner without expected payoffs, and, beside
    own resources, ``holds`` and in most cases ``knowledge`` and ``stages``. The result has no ``[adversary]``. If
    ``[adversary]`` is missing, or ``[adversaries]`` is missing or empty, the data are returned unchanged.
    """
    defaults, several = content.get("adversary"), content.get("adversaries")
    if not (isinstance(defaults, Mapping) and isinstance(several, Mapping) and several):
        return content
    whole = {key: value for key, value in content.items() if key != "adversary"}
    whole["adversaries"] = {
        name: _with_defaults(own, defaults) if isinstance(own, Mapping) else own for name, own in several.items()
    }
    return whole


def _with_defaults(own: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    left_out = {key for given, together in _SAID_TOGETHER if any(name in own for name in given) for key in together}
    if own.get("planner") in planners_without(EXPECTED_PAYOFF):
        left_out |= {"rationality", "precision", "prospect"}
    if own.get("holds") is not None or own.get("buys"):
        # An adversary's resources determine its background knowledge, unless the defaults assign resources to
        # knowledge sources explicitly.
        by_resources = isinstance(defaults.get("stages"), list) or "resource" in defaults
        left_out |= {"holds"} if by_resources else {"holds", "knowledge", "stages"}
    return merged({key: value for key, value in defaults.items() if key not in left_out}, own)


class MeasuresSection(Section):
    """Measures of your own, which are columns of results.

    Attributes
    ----------
    own
        measures that a scenario file provides: names, or `package.module:object`
    parameters
        parameters of measures of your own, by the name of the measure
    """

    own: Annotated[tuple[Text, ...], distinct("measure given twice")] = ()
    parameters: dict[str, dict[str, Any]] = Field(default={})


_DECIDED = ReadIf(lambda section, scenario: not {"publisher", "subjects"}.isdisjoint(vars(scenario)), "with policies")


class ScenarioHead(Section):
    """Keys of every scenario.

    Attributes
    ----------
    title
        title printed above the results
    source
        origin of the study and its figures
    seed
        seed of all random draws; the option `--seed` overrides it
    replications
        number of runs, each with different random draws; more than one make a batch
    sweep
        batch of runs over listed values of keys
    uncertainty
        batch of runs over values drawn from distributions of keys
    kept
        columns that `reidsim share --keep` copies and that no outsider knows, by column; no quasi-identifiers
    measures
        measures of your own
    stress
        analyses that `reidsim stress` performs
    """

    title: str = ""
    source: str = ""
    seed: Seed = 0
    replications: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    sweep: SweepSection | None = None
    uncertainty: UncertaintySection | None = None
    kept: dict[str, KeptSection] = Field(default={})
    measures: Annotated[MeasuresSection, _DECIDED] = MeasuresSection()
    stress: StressSection | None = None

    # Conditions that depend on other sections than the key's own, by pattern of the key path; see `ReadIf`.
    read_if: ClassVar[Mapping[str, ReadIf]] = {}

    @staticmethod
    def spelled_out(data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return scenario data with ``[adversary]`` copied into named adversaries; see the function `spelled_out`."""
        return spelled_out(data)

    @classmethod
    def as_written(cls, error: InputError, data: Mapping[str, Any]) -> InputError:
        """Return an error with the key path of the scenario file as the user wrote it.

        An error in ``adversaries.NAME.key`` names ``adversary.key`` if the value was inherited from the defaults. Other
        errors are unchanged. `data` are the plain data of the scenario, with defaults not yet copied.
        """
        section, _, rest = (error.where or "").partition(".")
        if section != "adversaries" or spelled_out(data) is data:
            return error
        name, _, key = rest.partition(".")
        own, first = data["adversaries"].get(name), key.partition(".")[0].partition("[")[0]
        if not isinstance(own, Mapping) or first in own or first not in data["adversary"]:
            return error
        return error.but(where=f"adversary.{key}")

    @property
    def in_rounds(self) -> bool:
        """Whether the game has rounds: with section ``agents`` or ``releases``."""
        return any(getattr(self, key, None) is not None for key in ("agents", "releases"))

    @property
    def counts_records(self) -> bool:
        """Whether the file of records is read as its distinct records, also on the workers of a cluster."""
        return False

    @property
    def columns(self) -> dict[str, str]:
        """Column of each quasi-identifier in the file of records, by attribute; empty for kinds without records."""
        return {}

    @property
    def every_adversary(self) -> Mapping[str, Any]:
        """The sections of all adversaries, by key path.

        These are the sections of the named adversaries or, if none is named, the section ``adversary``. The mapping is
        empty for a kind without adversaries.
        """
        several = {f"adversaries.{name}": section for name, section in getattr(self, "adversaries", {}).items()}
        return several or ({"adversary": self.adversary} if hasattr(self, "adversary") else {})

    @model_validator(mode="after")
    def _has_feasible_design(self) -> Self:
        swept = {} if self.sweep is None else self.sweep.values
        uncertain = {} if self.uncertainty is None else self.uncertainty.parameters
        points, samples = self.sweep and self.sweep.n_points, self.uncertainty and self.uncertainty.samples
        numbers = {"sweep.values": points or 1, "uncertainty.samples": samples or 1, "replications": self.replications}
        runs, most = math.prod(numbers.values()), max(numbers, key=numbers.__getitem__)
        found = f"{runs:,} ({' x '.join(f'{n:,} of {key}' for key, n in numbers.items() if n > 1)})"
        twice = next((key for key in uncertain if any(overlap(key, other) for other in swept)), None)
        where, expected = f"uncertainty.parameters.{twice}", "the key in either sweep or uncertainty"
        quasi = next((name for name in self.kept if name in self.columns.values()), None)
        problem, otherwise = "the column is a quasi-identifier", "a column that is no attribute"
        return self.unless(
            (runs > MOST_POINTS, "too many runs", most, f"at most {MOST_POINTS:,}", found),
            (twice, "key both swept and uncertain", where, expected, None),
            (quasi, problem, f"kept.{quasi}", otherwise, quasi),
        )


class AttackChanges(Section):
    """Parameters of the sequential attack that replace the scenario's values.

    Attributes
    ----------
    gain
        value that replaces the scenario's value
    exploit_cost
        value that replaces the scenario's value
    access_cost
        value that replaces the scenario's value
    link_cost
        value that replaces the scenario's value
    penalty
        value that replaces the scenario's value
    max_penalties
        value that replaces the scenario's value
    detection_intercept
        value that replaces the scenario's value
    detection_slope
        value that replaces the scenario's value
    prior
        value that replaces the scenario's value
    discount
        value that replaces the scenario's value
    """

    gain: Money | None = None
    exploit_cost: Money | None = None
    access_cost: Money | None = None
    link_cost: Money | None = None
    penalty: Money | None = None
    max_penalties: Count | None = None
    detection_intercept: float | None = None
    detection_slope: float | None = None
    prior: Annotated[float, Field(gt=0, le=1)] | None = None
    discount: Annotated[float, Field(gt=0, le=1)] | None = None


class FileAttackSection(Section):
    """An attack on all records by one adversary who pays for access once.

    Attributes
    ----------
    budget
        largest number of exploits; default: no limit
    draws
        number of random draws that estimate the value of a plan with a budget
    """

    budget: Count | None = None
    draws: Annotated[int, Field(ge=2)] = 1000


class SequentialFiguresSection(Section):
    """Figures on the behaviour of the sequential planner.

    Attributes
    ----------
    settings
        settings of the sequential attack to compare, by name; default: only the scenario's own
    largest_group
        largest group size in the figures, which start at 1
    beliefs
        whether to compare known with unknown group sizes for every record; needs `adversary.sequential.registry`
    file_attack
        attack on all records by one adversary who pays for access once
    """

    settings: dict[str, AttackChanges] = Field(default={"as in the scenario": AttackChanges()}, min_length=1)
    largest_group: Annotated[int, Field(ge=1, le=100_000)] = 60
    beliefs: bool = False
    file_attack: FileAttackSection | None = None


class FiguresSection(Section):
    """Additional tables and figures of a run.

    Attributes
    ----------
    strategies
        category by attribute, which selects the record whose strategies are computed and drawn
    sequential
        figures of the sequential attack by group size; only with planner `"fmdp"`
    """

    strategies: dict[str, str] | None = None
    sequential: SequentialFiguresSection | None = None
