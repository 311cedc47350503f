"""How long a scenario is expected to take: a part of one of its runs is tried, and the time of all of it follows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.engine.batch.design import Design, at_point, has_numbered_replications
from reidsim.engine.batch.executors.capacity import default_workers
from reidsim.engine.batch.executors.choice import WORTH_SECONDS
from reidsim.engine.batch.one_run import GivenStudy, ScenarioWork, data_key
from reidsim.engine.batch.tasks import RunTask
from reidsim.engine.memory import needed_memory
from reidsim.engine.results import Stopwatch
from reidsim.engine.single_run import run_once
from reidsim.errors import InputError
from reidsim.random_streams import replication_seed
from reidsim.scenarios.faces import Portions
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Study
from reidsim.wording import counted

# Trials begin with so many units of work, and end before they are expected to have taken so many seconds; or those of
# patience, as long as they tell no more than this factor.
_FIRST_UNITS, _SECONDS, _VAGUE = 32, 1.8, 2.0
# The next trial is of so many times as many units, if there is time for it.
_LEAST_GROWTH, _GROWTH = 4, 16
# A first trial that takes more seconds is given up: of few units, too, generalizations can be many.
_PATIENCE = 5.0
# If it is in many steps, those left take at least so much of the time that they would take like those before.
_MANY_STEPS, _LEAST_OF_REST = 100, 0.5
# After a run that was begun, those left take at most so many times as long: outcomes and files come after them.
_MOST_OF_REST = 1.5
# By which share the seconds of a trial differ from time to time.
_NOISE = 0.1
# Points of a batch that differ in more than money are tried besides one, so many at most, on parts that take about as
# many seconds.
_MOST_BESIDE, _BRIEF = 8, 0.2
# Below it no estimate is better than that it is little.
_LITTLE = 10.0
_UNITS_OF_TIME = (("second", 1), ("minute", 60), ("hour", 3_600), ("day", 86_400))

# The seconds that each kind of step of a run took with a part of a study.
Seconds = NDArray[np.float64]
Beside = Callable[[Sequence[int]], Sequence[tuple[int, Sequence[float]]]]


@dataclass(frozen=True)
class Expected:
    """How long something is expected to take.

    Parameters
    ----------
    low, high : float
        Seconds; `high` is infinite where no part of a run was short enough to be tried.
    share : float
        Of the units of work of a run, that of the largest trial.
    tried : float
        Seconds of that trial, or those after which it was given up.
    workers : int
        Processes that share the work.
    """

    low: float
    high: float
    share: float
    tried: float
    workers: int = 1

    def times(self, factor: float) -> Expected:
        """Return it of so many times as much work."""
        return replace(self, low=self.low * factor, high=self.high * factor)

    def __str__(self) -> str:
        """Return it as a phrase."""
        if self.high < _LITTLE:
            return f"less than {counted(_LITTLE, 'second')}"
        if self.high == np.inf:
            return f"unknown (at least {duration(self.low, self.low).removeprefix('about ')})"
        part = "a run" if self.share == 1 else f"{100 * self.share:.2g} % of a run"
        on = "" if self.workers == 1 else f" in {self.workers} processes"
        return f"{duration(self.low, self.high)}{on}, from a trial of {part} in {self.tried:.2g} s"


class _TooLongError(Exception):
    """A trial takes longer than it may.

    Parameters
    ----------
    seconds : float
        That it takes at least.
    share, rest : float
        Of its steps, the share that is done, and the seconds of the others at the pace so far.
    """

    def __init__(self, seconds: float, share: float = 0.0, rest: float = np.inf) -> None:
        self.seconds, self.share, self.rest = seconds, share, rest


class _Patience:
    """What a trial reports its progress to, which ends it in time."""

    def __init__(self, seconds: float | None = None) -> None:
        self._clock, self._most = Stopwatch(), _PATIENCE if seconds is None else seconds
        self._task, self._begun = "", (0.0, 0)

    def __call__(self, task: str, done: int, total: int) -> None:
        seconds = self._clock.seconds
        if task != self._task:
            self._task, self._begun = task, (seconds, done)
        if seconds > self._most:
            before, first = self._begun
            if total < _MANY_STEPS or done <= first:
                raise _TooLongError(seconds)
            rest = (seconds - before) / (done - first) * (total - done)
            raise _TooLongError(seconds + _LEAST_OF_REST * rest, done / total, rest)


def duration(low: float, high: float) -> str:
    """Return a range of seconds in the unit that suits the upper end, with two digits: ``about 3 minutes``."""
    name, size = next((unit for unit in reversed(_UNITS_OF_TIME) if high >= 2 * unit[1]), _UNITS_OF_TIME[0])
    first, last = (max(float(f"{seconds / size:.2g}"), 1.0) for seconds in (low, high))
    if last < 1.5 * first:
        return f"about {counted(last, name)}"
    return f"{first:,.0f} to {counted(last, name)}"


def expected_run(study: Study[Any], built: float) -> Expected | None:
    """Return how long a run of a study takes; None if it cannot be cut down.

    Parameters
    ----------
    study : Study
    built : float
        Seconds that it took to build.
    """
    return expected_steps(study, None, np.array([study.draws]), built)


def expected_batch(
    loaded: LoadedScenario[ScenarioHead], design: Design, study: Study[Any], built: float
) -> Expected | None:
    """Return how long the runs of a batch take, by the number of processes; see `expected_run`.

    Parameters
    ----------
    loaded : LoadedScenario
        Before the values of any point.
    design : Design
    study : Study
        Of the first point.
    built : float
        Seconds that it took to build.
    """
    kind, replications = kind_of(loaded.scenario), design.replications
    workers = min(default_workers(needed_memory(study) or 0), design.n_runs)
    if not kind.decides or kind.in_rounds(study.scenario):
        return expected_steps(study, None, np.array([design.n_runs]), design.n_runs * built, workers)
    groups = ScenarioWork(loaded, design).groups
    drawn_once = has_numbered_replications(loaded.scenario)
    built_from = np.unique(design.alike([*kind.amount_keys, *_of_no_data(loaded, design)]))
    builds, built_once = len(built_from) * (1 if drawn_once else replications), built
    if builds > 1 and built < _SECONDS:
        seed = loaded.scenario.seed if drawn_once else replication_seed(loaded.scenario.seed, replications - 1)
        last = at_point(loaded, design.values(built_from[-1]), seed)
        built += (builds - 1) * _seconds(lambda: kind.build_after(last, study))
    else:
        built *= builds
    first = replications * len(groups)
    steps = np.array([first, design.n_runs - first])
    largest = max(groups, key=len)

    def play(part: Study[Any]) -> Seconds:
        work, seconds = ScenarioWork(loaded, design, GivenStudy(part)), np.zeros(2)
        for step, point in enumerate(largest[:2]):
            seconds[step] = _seconds(partial(work, _task(design, point, part)))
        return seconds

    def beside(sizes: Sequence[int]) -> list[tuple[int, list[float]]]:
        firsts, clock, found = [group[0] for group in groups if group is not largest], Stopwatch(), []
        for place in np.linspace(0, len(firsts) - 1, min(len(firsts), _MOST_BESIDE)).astype(int).tolist():
            if clock.seconds + built_once < _PATIENCE:
                with contextlib.suppress(InputError):
                    # That a point cannot be run is told by running it.
                    found.append(_tried(loaded, design, firsts[place], study, sizes))
        return found

    return expected_steps(study, play, steps, built, workers, beside)


def _tried(
    loaded: LoadedScenario[ScenarioHead], design: Design, point: int, before: Study[Any], sizes: Sequence[int]
) -> tuple[int, list[float]]:
    """Return the units of work of a run at a point, and the seconds that parts of ascending sizes take, while brief."""
    at = at_point(loaded, design.values(point), loaded.scenario.seed).with_sections(replications=1)
    portions = kind_of(at.scenario).portions(kind_of(at.scenario).build_after(at, before))
    if portions is None:
        raise InputError("of no part its time can be told")

    def seconds_of(size: int) -> float:
        part = portions.study_of(min(max(size, portions.least), portions.units))
        return _seconds(partial(ScenarioWork(loaded, design, GivenStudy(part)), _task(design, point, part)))

    # What is compiled is no part of what a run takes.
    seconds_of(portions.least)
    seconds: list[float] = []
    for size in sizes:
        if not seconds or seconds[-1] < _BRIEF:
            seconds.append(seconds_of(size))
    return portions.units, seconds


def _of_no_data(loaded: LoadedScenario[ScenarioHead], design: Design) -> Iterator[str]:
    """Yield the keys of which another value than at the first point leaves the data of the study as they are."""
    first = design.values(0)
    built_from = data_key(at_point(loaded, first))
    for key, values in design.columns.items():
        other = next((value for value in reversed(values) if value != first[key]), first[key])
        with contextlib.suppress(InputError):
            # That the other keys cannot go with the value tells nothing.
            if data_key(at_point(loaded, {**first, key: other})) == built_from:
                yield key


def _task(design: Design, point: int, part: Study[Any]) -> RunTask:
    return RunTask("", point, 0, part.scenario.seed, design.values(point))


def _play_once(part: Study[Any]) -> Seconds:
    return np.array([_seconds(lambda: run_once(part.loaded, study=part))])


def _seconds(work: Callable[[], object]) -> float:
    clock = Stopwatch()
    work()
    return clock.seconds


def expected_steps(
    study: Study[Any],
    play: Callable[[Study[Any]], Seconds] | None,
    steps: NDArray[np.int64],
    built: float,
    workers: int = 1,
    beside: Beside | None = None,
) -> Expected | None:
    """Return how long so many steps of each kind take, with what is built before them; None if it cannot be told.

    Parameters
    ----------
    study : Study
    play : callable or None
        Plays a part of it; returns the seconds of a step of each kind. None where the only kind of step is a run.
    steps : ndarray of int64
        How many steps of each kind there are.
    built : float
        Seconds of building.
    workers : int
        Processes that share the steps.
    beside : callable, optional
        Tries other steps of the first kind on parts of ascending sizes; returns of each how many units of work it has,
        and the seconds of one part or more.
    """
    portions = kind_of(study.scenario).portions(study.with_loaded(study.loaded.with_sections(replications=1)))
    if portions is None:
        return None
    if portions.steps is not None and play is None:
        return _expected_of_beginning(study, built, even=portions.steps == "even")
    least = min(portions.least, portions.units)
    try:
        # A run can be given up on its way, the steps of a batch cannot.
        few, clock = portions.study_of(least), Stopwatch()
        run_once(few.loaded, study=few, progress=_Patience())
        if play is not None:
            play(few)
        some = steps > 0

        def expected(sizes: Sequence[int], found: Sequence[Seconds]) -> list[float]:
            ends = extrapolated(sizes, found, portions.units)
            return [built + float(seconds[some] @ steps[some]) for seconds in ends]

        def allowed(sizes: Sequence[int], found: Sequence[Seconds]) -> float:
            low, high = expected(sizes, found)
            return 0.0 if high < _LITTLE else _SECONDS if high <= _VAGUE * low else _PATIENCE

        sizes, found = trials(portions, play or _play_once, clock, allowed)
    except InputError:
        # A part can be refused that is too small for what a scenario asks of all.
        return None
    except _TooLongError as given_up:
        return Expected(built + given_up.seconds, np.inf, least / portions.units, _PATIENCE)
    low, high = expected(sizes, found)
    if beside is not None and high < np.inf:
        factors = _factors(sizes, found, portions.units, beside)
        low, high = (built + (seconds - built) * factor for seconds, factor in zip((low, high), factors, strict=True))
    share, tried = sizes[-1] / portions.units, float(found[-1].sum())
    if workers == 1 or high < WORTH_SECONDS:
        return Expected(low, high, share, tried)
    return Expected(low / workers, high / workers, share, tried, workers)


def _expected_of_beginning(study: Study[Any], built: float, *, even: bool) -> Expected | None:
    """Return how long a run takes that is begun and given up, by the share of its steps that it has done."""
    clock = Stopwatch()
    try:
        run_once(study.loaded, study=study, progress=_Patience(_SECONDS))
    except InputError:
        return None
    except _TooLongError as given_up:
        tried = clock.seconds
        if not even:
            return Expected(built + tried, np.inf, 0.0, tried)
        return Expected(built + given_up.seconds, built + tried + _MOST_OF_REST * given_up.rest, given_up.share, tried)
    tried = clock.seconds
    return Expected(built + tried, built + tried, 1.0, tried)


def trials(
    portions: Portions,
    play: Callable[[Study[Any]], Seconds],
    clock: Stopwatch,
    allowed: Callable[[Sequence[int], Sequence[Seconds]], float],
) -> tuple[list[int], list[Seconds]]:
    """Return the units of work of some trials, ascending, and what each took.

    Parameters
    ----------
    portions : Portions
    play : callable
        Plays a part of the work; returns the seconds of a step of each kind.
    clock : Stopwatch
        Runs since the least units of work were first played.
    allowed : callable
        Tells from two trials or more how many seconds all of them may take, 0 if no other is needed.
    """
    whole = portions.units
    least = min(portions.least, whole)
    if clock.seconds > _SECONDS / 2:
        # What was read and compiled then is no part of what a run takes.
        clock = Stopwatch()
        again = play(portions.study_of(least))
        if clock.seconds * _LEAST_GROWTH > _PATIENCE:
            return [least], [again]
    sizes = [min(max(_FIRST_UNITS, least), whole)]
    found = [play(portions.study_of(sizes[-1]))]
    while sizes[-1] < whole:
        left = (_SECONDS if len(sizes) == 1 else allowed(sizes, found)) - clock.seconds
        growth = left / max(found[-1].sum(), 1e-9) if len(sizes) == 1 else _growth(sizes, found, left)
        # Without a second one nothing is told.
        growth = min(max(growth, _LEAST_GROWTH if len(sizes) == 1 else 0), _GROWTH)
        size = min(whole, int(growth * sizes[-1]))
        if size < min(whole, _LEAST_GROWTH * sizes[-1]):
            break
        sizes.append(size)
        found.append(play(portions.study_of(size)))
    return sizes, found


def _factors(sizes: Sequence[int], found: Sequence[Seconds], units: int, beside: Beside) -> tuple[float, float]:
    """Return how many times as long as those of trials, at least and at most, steps take on average."""
    of_trials = [float(seconds[0]) for seconds in found]
    brief = sum(seconds < _BRIEF for seconds in of_trials)
    others, factors = beside(sizes[: max(brief, 1)]), []
    for end, ((first, *_), sign) in enumerate(zip(extrapolated(sizes, found, units), (-1, 1), strict=True)):
        whole = [first]
        for units_there, tried in others:
            size, here, there = sizes[len(tried) - 1], of_trials[len(tried) - 1], tried[-1]
            units_there = max(units_there, size)
            if len(tried) > 1:
                of_parts = extrapolated(sizes[: len(tried)], [np.array([seconds]) for seconds in tried], units_there)
                whole.append(of_parts[end][0])
                continue
            each = (first - of_trials[-1]) / (units - sizes[-1]) if units > sizes[-1] else here / size
            each += (there - here + sign * _NOISE * max(there, here)) / size
            whole.append(there + (units_there - size) * max(each, 0.0))
        factors.append(float(np.mean(whole) / first) if first > 0 else 1.0)
    return factors[0], factors[1]


def _growth(sizes: Sequence[int], found: Sequence[Seconds], left: float) -> float:
    """Return how many times as large as the last a trial may be to end in time, if it is on the line of the others."""
    before, last = (seconds.sum() for seconds in found[-2:])
    slope = max((last - before) / (sizes[-1] - sizes[-2]), 1e-9)
    return float(1 + (left - last) / slope / sizes[-1])


def extrapolated(sizes: Sequence[int], found: Sequence[Seconds], units: int) -> tuple[Seconds, Seconds]:
    """Return the least and the most that all units of work are expected to take, by kind of step.

    They are on the lines through the last two trials, had each of these taken some more or less than it did.
    """
    last = found[-1]
    if len(sizes) == 1:
        return last, last if sizes[-1] == units else np.full_like(last, np.inf)
    per_unit = (last - found[-2]) / (sizes[-1] - sizes[-2])
    vague = _NOISE * last / (sizes[-1] - sizes[-2])
    low, high = (last + np.maximum(slope, 0) * (units - sizes[-1]) for slope in (per_unit - vague, per_unit + vague))
    return low, high
