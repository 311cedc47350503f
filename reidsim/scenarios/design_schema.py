"""Schema of batches: replications, sweeps over keys, and uncertain parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from reidsim.errors import InputError, require_among, require_distinct
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
        spaced = (self.start, self.stop, self.points)
        if self.listed is not None:
            if any(part is not None for part in spaced):
                expected = "either values, or from, to and points"
                raise InputError("both a list and an interval of values", expected=expected)
            if not self.listed:
                raise InputError("the list of values is empty", expected="at least one value")
        elif self.start is None or self.stop is None or self.points is None:
            raise InputError("incomplete range", expected="a list of values, or from, to and points")
        elif self.start >= self.stop:
            raise InputError(
                "empty range", found=[self.start, self.stop], expected="a value of from below the value of to"
            )
        elif self.scale == "log" and self.start <= 0:
            raise InputError("a logarithmic scale needs numbers above 0", where="from", found=self.start)
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
            repeated = list(_repeated(values.listed or ()))
            if repeated and not any(key in group for group in self.together):
                raise InputError("value given twice", where=f"values.{key}", found=repeated[0])
        require_distinct("key in two groups", (key for group in self.together for key in group), where="together")
        for number, group in enumerate(self.together):
            where = f"together[{number}]"
            require_among("the key has no values in the sweep", group, self.values, where=where)
            lengths = {key: self.values[key].size for key in group}
            if len(set(lengths.values())) > 1:
                found = ", ".join(f"{key}: {n}" for key, n in lengths.items())
                raise InputError("keys that change together have different numbers of values", where=where, found=found)
        self._check_one_at_a_time()
        if self.n_points > MOST_POINTS:
            expected = f"at most {MOST_POINTS:,}"
            raise InputError("too many points", where="values", found=self.n_points, expected=expected)
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

    def _check_one_at_a_time(self) -> None:
        where = "one_at_a_time"
        require_among("the key has no values in the sweep", self.one_at_a_time, self.values, where=where)
        if len(self.one_at_a_time) == 1 or len(set(self.one_at_a_time)) < len(self.one_at_a_time):
            raise InputError(
                "too few keys", where=where, found=list(self.one_at_a_time), expected="two or more distinct keys"
            )
        for group in self.together:
            if 0 < sum(key in self.one_at_a_time for key in group) < len(group):
                expected = "all keys that change together, or none of them"
                raise InputError("only some keys of a group", where=where, found=list(group), expected=expected)


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
        if low is not None and high is not None and low >= high:
            raise InputError(
                "empty interval", where="low", found=[low, high], expected="a value of low below the value of high"
            )
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
        if not self.low <= self.mode <= self.high:
            raise InputError(
                "mode outside the interval", where="mode", found=self.mode, expected="a number from low to high"
            )
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
        if self.weights is None:
            return self
        if len(self.weights) != len(self.values):
            expected = f"{len(self.values)} weights, one for each value"
            raise InputError(
                "the number of weights differs from the number of values",
                where="weights",
                found=len(self.weights),
                expected=expected,
            )
        if sum(self.weights) <= 0:
            raise InputError(
                "all weights are 0", where="weights", found=list(self.weights), expected="a weight above 0"
            )
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
        if self.method == "sobol" and self.samples & (self.samples - 1):
            expected = f"a power of 2 for a Sobol sequence, such as {2 ** self.samples.bit_length():,}"
            raise InputError(
                "the number of samples is not a power of 2", where="samples", found=self.samples, expected=expected
            )
        pairs: set[frozenset[str]] = set()
        for number, correlation in enumerate(self.correlations):
            where = f"correlations[{number}]"
            require_among("no such uncertain parameter", correlation.keys, self.parameters, where=where)
            pair = frozenset(correlation.keys)
            if len(pair) < 2 or pair in pairs:
                problem = "correlation given twice" if pair in pairs else "correlation of a parameter with itself"
                raise InputError(problem, where=where, found=list(correlation.keys))
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
    if runs > MOST_POINTS:
        found = " x ".join(f"{number:,} of {key}" for key, number in numbers.items() if number > 1)
        most = max(numbers, key=lambda key: numbers[key])
        raise InputError("too many runs", where=most, found=f"{runs:,} ({found})", expected=f"at most {MOST_POINTS:,}")
    if sweep is None or uncertainty is None:
        return
    for key, other in itertools.product(uncertainty.parameters, sweep.values):
        if _holds(key, other) or _holds(other, key):
            where = f"uncertainty.parameters.{key}"
            raise InputError(
                "key both swept and uncertain", where=where, expected="the key in either sweep or uncertainty"
            )


def _check_keys(keys: Iterable[str], where: str) -> None:
    """Refuse keys that cannot vary between points, or that contain each other."""
    seen: list[str] = []
    for key in keys:
        if not all(key.split(".")):
            raise InputError(
                "not a key path", where=where, found=key, expected="keys separated by dots, such as economics.loss"
            )
        if key.split(".")[0] in FIXED_KEYS:
            hint = "use replications for different random draws" if key == "seed" else None
            raise InputError("key cannot change within a batch", where=f"{where}.{key}", hint=hint)
        inside = [other for other in seen if _holds(key, other) or _holds(other, key)]
        if inside:
            raise InputError("one key contains the other", where=f"{where}.{key}", found=inside[0])
        seen.append(key)


def _repeated(values: Sequence[Any]) -> Iterator[Any]:
    """Yield the values that equal an earlier one.

    Lists and sections are compared one by one, because they are not hashable.
    """
    seen: set[Any] = set()
    for number, value in enumerate(values):
        if isinstance(value, list | dict):
            is_known = value in values[:number]
        else:
            is_known = value in seen
            seen.add(value)
        if is_known:
            yield value


def _holds(section: str, key: str) -> bool:
    return key == section or key.startswith(f"{section}.")
