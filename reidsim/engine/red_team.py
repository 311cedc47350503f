"""Attack a written file with a record-linkage engine, and compare the attack with the game's prediction.

The prediction is the posterior probability of `reidsim.linkage.likelihood`: without noise, one over the number of
people who fit the row. The attack is a linkage with Splink, which has no access to the prediction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from reidsim.core.errors import InputError, listed, locating, refuse_first, refuse_rows
from reidsim.core.numerics import random_stream, wilson_interval
from reidsim.core.tables import (
    as_file,
    coded,
    read_coded_table,
    refuse_other_spelling,
    require_columns,
    sniff_delimiter,
)
from reidsim.core.validation import Section, validated
from reidsim.core.wording import counted
from reidsim.engine.results import Result, common_fields, is_shared_file, scenario_hash, sha256_of, versions
from reidsim.linkage.likelihood import Candidates, joint_likelihood
from reidsim.linkage.people import RowSets
from reidsim.linkage.record_linkage import (
    MOST_BESIDE_ERRORS,
    MOST_COLUMNS,
    TRAINING_ROWS,
    Floats,
    LinkedColumn,
    Sides,
    link,
)
from reidsim.linkage.totals import successes
from reidsim.populations.population import Attribute, Counts, Seed, distinct_rows
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.noise import unknown
from reidsim.releases.records import CellReader, select_columns
from reidsim.scenarios.adversary_schema import economics_of
from reidsim.scenarios.kind import Progress, keys_of_records, kind_of
from reidsim.scenarios.scenario import Scenario

# Columns with the three probabilities of a claim: by the game, by the attack, and by Splink for the pair alone.
ESTIMATES = ("predicted", "probability", "match_probability")
# Rows that more people fit are ignored: they add little to the other rows of their person.
_MOST_OF_LINKED_ROWS = 1000
# A cell that fits no value stands for the most similar values, up to this number of edits.
_MOST_EDITS = 2
_RELIABILITY = (
    *("estimate", "from", "to", "claims", "mean"),
    *("correct", "precision", "precision_low", "precision_high"),
)
_THRESHOLDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
_MISSING = ("", "NA")
_LARGEST = 700.0  # exponent of the largest floating-point number


@dataclass(frozen=True, eq=False, repr=False)
class AttackResult(Result):
    """Claims of an attack on a file; see `Result` for further parameters.

    Intervals contain 95 %: of a share of correct claims, the Wilson interval; of a prediction, quantiles of the
    Poisson-binomial distribution of the number of correct claims.

    Parameters
    ----------
    summary : DataFrame
        One row, the file: ``rows``, ``people`` in the register, ``coverage``, ``claims``, predicted number of correct
        claims and payoff with intervals (``predicted``, ``predicted_low``, ``predicted_high``, ``payoff_predicted`` and
        so on), and the number of correct claims that the attack expects, with its own error rates (``expected``). With
        the truth, also ``correct``, ``precision`` with its interval, ``payoff``, and the Brier score of each
        probability (``brier_predicted`` and so on).
    claims : DataFrame
        One row per claim, in the order of the file: ``row`` (first row of the person claimed, from 0), ``person`` (of
        the register), and three probabilities that the claim is correct: ``predicted`` by the game, ``probability`` by
        the attack, and ``match_probability``, which Splink states for the pair alone. With the truth, ``correct``.
    thresholds : DataFrame
        Claims whose probability in the attack is at least ``threshold``: ``claims``, ``predicted`` (mean), ``correct``,
        ``precision`` with its interval.
    reliability : DataFrame
        Ten classes of claims by each probability (``estimate``): bounds ``from`` and ``to``, ``claims``, ``mean``
        probability, ``correct``, ``precision`` with its interval. Empty without the truth.
    errors : DataFrame
        Share of rows whose cell does not cover the person's value, by ``column``: ``stated`` by the noise of the
        scenario, which the prediction follows, and ``estimated`` by the attack.
    """

    summary: pd.DataFrame
    claims: pd.DataFrame
    thresholds: pd.DataFrame
    reliability: pd.DataFrame
    errors: pd.DataFrame


def attack(
    data: pd.DataFrame | str | Path,
    register: pd.DataFrame | str | Path,
    *,
    truth: pd.DataFrame | str | Path | None = None,
    id: str | None = None,
    person: str | None = None,
    gain: float | None = None,
    cost: float | None = None,
    scenario: Scenario[Any] | str | Path | None = None,
    coverage: float = 1.0,
    encoding: str | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> AttackResult:
    """Attack a released file: link its rows to a register, and claim people where a claim pays.

    Parameters
    ----------
    data : DataFrame, str or Path
        Released rows, in memory or as a file. Cells may be values, intervals, sets, ``*`` or masked codes.
    register : DataFrame, str or Path
        People with their values, in columns of the same names.
    truth : DataFrame, str or Path, optional
        The person of each released row: a column ``person``, or named as `id`, with values of column `id` of the
        register, or its row numbers from 0 without `id`. Rows are in the order of `data`, or numbered from 0 in a
        column ``record``. An empty person is not in the register.
    id : str, optional
        Column of the register that identifies a person. By default, each row is another person.
    person : str, optional
        Column of `data` with equal values in the rows of a person. By default, rows are attacked one by one.
    gain, cost : float, optional
        Gain of a correct claim and cost of a claim, in currency units. Default: gain and cost of the scenario.
    scenario : Scenario, str or Path, optional
        A scenario, or its name or file; its hierarchies, names of columns and values are used.
    coverage : float, optional
        Probability that the person of a row is in the register, above 0.
    encoding : str, optional
        Encoding of the CSV files; UTF-8 if not given.
    seed : int
        Seed of random choices between equally probable people. Default: the scenario's seed, or 0.
    allow_code : bool
        Whether code that the scenario names may be imported.
    progress : callable, optional
        Called with the task, the completed steps and all steps.

    Raises
    ------
    InputError
        If Splink is not installed, gain or cost is missing, or a file cannot be used.

    See Also
    --------
    score : compute payoff and risk of a released file without an attack.

    Examples
    --------
    >>> import pandas, reidsim
    >>> people = pandas.DataFrame({"name": ["Ann", "Bob", "Cem"], "age": [31, 34, 52], "sex": ["F", "M", "M"]})
    >>> shared = pandas.DataFrame({"age": ["30-39", "50-59"], "sex": ["M", "*"]})
    >>> found = reidsim.attack(shared, people, id="name", gain=100, cost=10)  # doctest: +SKIP
    >>> found.claims[["row", "person", "predicted"]].values.tolist()  # doctest: +SKIP
    [[0, 'Bob', 1.0], [1, 'Cem', 1.0]]
    """
    loaded: Scenario[Any] | None = None if scenario is None else Scenario.load(scenario, allow_code=allow_code)
    if loaded is not None and hasattr(loaded.scenario, "economics"):
        economics = economics_of(loaded.scenario)[0]
        gain, cost = economics.adversary_gain if gain is None else gain, economics.cost if cost is None else cost
    for name, amount in (("gain", gain), ("cost", cost)):
        missing, expected = "amount missing", "an amount, or a scenario with economics"
        refuse_first((amount is None, missing, name, None, expected), source="attack")
    seed = (0 if loaded is None else loaded.scenario.seed) if seed is None else seed
    given = {
        "id": id,
        "person": person,
        "gain": gain,
        "cost": cost,
        "coverage": coverage,
        "encoding": encoding,
        "seed": seed,
    }
    options = validated(_Options, given, "attack")
    with (
        as_file(data, "attack: argument 'data'", "shared", encoding) as shared_file,
        as_file(register, "attack: argument 'register'", "register", encoding) as register_file,
        as_file("" if truth is None else truth, "attack: argument 'truth'", "truth", encoding) as truth_file,
    ):
        files = {"file": shared_file, "register": register_file}
        files |= {} if truth is None else {"truth": truth_file}
        return _attacked(files, loaded, options, progress)


class _Options(Section):
    """Options of an attack; see `attack`."""

    id: str | None
    person: str | None
    gain: float = Field(ge=0)
    cost: float = Field(ge=0)
    coverage: float = Field(gt=0, le=1)
    encoding: str | None
    seed: Seed


def _attacked(
    files: Mapping[str, Path],
    loaded: Scenario[Any] | None,
    options: _Options,
    progress: Progress | None,
) -> AttackResult:
    """Return the attack on a file; `files` has ``file``, ``register`` and perhaps ``truth``. See `attack`."""
    started, key, person, seed = time.perf_counter(), options.id, options.person, options.seed
    report: Progress = progress or (lambda task, done, total: None)
    report("reading files", 0, 3)
    encoding = options.encoding or "utf-8"
    tables = {
        name: read_coded_table(path, delimiter=sniff_delimiter(path, encoding), encoding=encoding)
        for name, path in files.items()
    }
    shared, register = tables["file"], tables["register"]
    for table, name, column in ((register, "register", key), (shared, "file", person)):
        if column is not None:
            keys_of_records(table, column, files[name])
    sides, of_row, of_person, warnings = _read(shared, register, files, loaded, {key, person})
    people, names = _numbered(register, key)
    units, _ = _numbered(shared, person)
    if "truth" in files:
        is_other = files["file"].resolve() != files["truth"].resolve() and "record" not in tables["truth"]
        is_sorted = is_other and is_shared_file(files["file"])
        problem, expected = "the rows of a file that share wrote are sorted", "this file with a kept identifier"
        refuse_first((is_sorted, problem, "--truth", str(files["truth"]), expected), source=files["file"])
    own = None if "truth" not in files else _truth(tables["truth"], files["truth"], key, names, len(shared))
    row_sets, unit_set = RowSets.from_rows(of_row, units)
    person_sets, person_set = RowSets.from_rows(of_person, people)
    problem, most_rows = "people of the register have different rows", int(person_sets.lengths.max(initial=1))
    wrong = sides.has_noise and int(row_sets.rows_of_person.max(initial=1)) > 1 and most_rows > 1
    expected = "with noise, one row per person of the register, or no option --person"
    refuse_first((wrong, problem, "--id", f"{most_rows} rows", expected), source=files["register"])
    report("predicting", 1, 3)
    some = np.random.default_rng(seed).permutation(len(sides.rows))[:TRAINING_ROWS]
    fits = _fits(sides, some)
    first = pd.Series(np.arange(len(units))).groupby(units).first().to_numpy()
    rows_of_person, is_linked = int(person_sets.rows_of_person.max()), person is not None
    report("linking", 2, 3)

    # A row is searched only if so few people fit it that a claim could pay.
    least = options.coverage * options.gain / options.cost if options.cost else np.inf
    most = max(least, _MOST_OF_LINKED_ROWS) if is_linked else least * rows_of_person
    pairs, missed, estimated = link(sides, fits, some, most, options.coverage, seed)
    probable = _posteriors(pairs, missed, sides, row_sets, person_sets, options.coverage, is_linked=is_linked)
    claimed = _claims(probable, unit_set, person_set, options, random_stream(seed, "claims"))
    claims = pd.DataFrame({"row": first[claimed["unit"]], "person": np.asarray(names)[claimed["person"]]})
    claims = claims.join(claimed[list(ESTIMATES)])
    if own is not None:
        claims["correct"] = own[claims["row"]] == claimed["person"].to_numpy()
    claims = claims.sort_values("row", ignore_index=True)
    size = {"file": files["file"].name, "rows": len(shared), "people": len(names)}
    summary = {**size, "coverage": options.coverage, **_summary(claims, options)}
    stated = [column.stated_error(sides.rows[:, place]) for place, column in enumerate(sides.columns)]
    errors = pd.DataFrame({"column": [each.name for each in sides.columns], "stated": stated, "estimated": estimated})
    tables_of = pd.DataFrame([summary]), claims, *_by_probability(claims), errors
    warnings += _disagreement(summary, claims, errors)
    digests = {name: {"name": path.name, "sha256": sha256_of(path)} for name, path in files.items()}
    facts = {"attack": {**digests, **options.model_dump()}}
    timings = {"attack": time.perf_counter() - started}
    if loaded is not None:
        return AttackResult(*tables_of, **common_fields(loaded, timings, facts, warnings))
    about = {"scenario": "attack", "content": {}, "scenario_hash": scenario_hash({}), "versions": versions()}
    manifest = {**about, "timings_seconds": timings, **facts}
    return AttackResult(*tables_of, name="attack", manifest=manifest, warnings=warnings)


def _numbered(table: pd.DataFrame, column: str | None) -> tuple[NDArray[np.int64], Sequence[Any]]:
    """Return the number of each row's person, and the persons; without a column, rows are persons."""
    if column is None:
        return np.arange(len(table)), range(len(table))
    codes, names = coded(table[column])
    return codes.astype(np.int64), list(names)


def _truth(table: pd.DataFrame, path: Path, key: str | None, names: Sequence[Any], n_rows: int) -> NDArray[np.int64]:
    """Return the number of the person of each released row, -1 if not in the register, shape (n_rows,)."""
    column = key if key is not None and key in table else "person"
    require_columns(table, [column], path)
    person = table[column].astype("str")
    if "record" in table:
        record = pd.to_numeric(table["record"].astype("str"), errors="coerce")
        wrong = ~record.isin(range(n_rows)) | record.duplicated()
        expected = f"each row number from 0 to {n_rows - 1} once"
        refuse_rows(
            wrong, "no such row of the file", source=path, column="record", found=table["record"], expected=expected
        )
        person = person.set_axis(record.astype(np.int64)).reindex(range(n_rows), fill_value="")
    found, expected = counted(len(person), "row"), f"{counted(n_rows, 'row')}, one per row of the file"
    refuse_first((len(person) != n_rows, "the key does not fit the file", None, found, expected), source=path)
    number = pd.Index(map(str, names)).get_indexer(pd.Index(person))
    stray = (number < 0) & (person != "").to_numpy()
    expected = f"a person of the register, such as {names[0]}, or an empty cell"
    refuse_rows(
        stray, "no such person", source=path, column=column, found=person.reset_index(drop=True), expected=expected
    )
    return number.astype(np.int64)


def _read(
    shared: pd.DataFrame,
    register: pd.DataFrame,
    files: Mapping[str, Path],
    loaded: Scenario[Any] | None,
    keys: set[str | None],
) -> tuple[Sides, NDArray[np.intp], NDArray[np.intp], tuple[str, ...]]:
    """Return distinct rows and people, the number of each row and each register row, and warnings."""
    columns_of = getattr(loaded.scenario, "columns", {}) if loaded is not None else {}
    hierarchy_of = dict[str, Hierarchy]()
    study: Any = None
    if loaded is not None and columns_of:
        study = kind_of(loaded.scenario).study_of(loaded)
        hierarchy_of = {each.attribute.name: each for each in study.lattice.hierarchies}
    names = {column: name for name, column in columns_of.items()} or {name: name for name in shared}
    places = [column for column in names if column in shared and column in register and column not in keys]
    found = listed(map(str, register.columns))
    refuse_first((not places, "no column in common", None, found, f"some of {listed(names)}"), source=files["register"])
    too_many, number = len(places) > MOST_COLUMNS, counted(len(places), "column")
    refuse_first(
        (too_many, "too many columns in common", None, number, f"at most {MOST_COLUMNS}"), source=files["file"]
    )
    columns, labels, values, warnings = list[LinkedColumn](), [], [], list[str]()
    unused = [column for column in names if column in shared and column not in register and column not in keys]
    with locating(files["register"]):
        refuse_other_spelling(register.columns, unused)
    if unused:
        warnings.append(f"columns of the file that the register lacks are not compared: {listed(unused)}")
    for column in places:
        hierarchy, spelling = hierarchy_of.get(names[column]), dict[str, Callable[[str], str]]()
        if hierarchy is not None and loaded is not None:
            spelling[column] = loaded.scenario.attributes[names[column]].label
        people = select_columns(register, {column: column}, spelling, files["register"])[column]
        (label, texts), (value, known) = coded(shared[column]), coded(people)
        if hierarchy is None:
            attribute = Attribute(column, tuple(text for text in known if text not in _MISSING) or ("",))
            hierarchy = Hierarchy.from_labels(attribute, [])
        linked, value_of_known, unread = _column(
            column, hierarchy, spelling.get(column, str), list(texts), list(known), np.bincount(value)
        )
        if unread and linked.covers.all():
            problem, expected = "no value of the register fits", f"values such as {listed(list(known)[:3])}"
            raise InputError(problem, source=files["file"], where=column, found=listed(unread), expected=expected)
        if unread:
            problem = f"cells of column {column!r} that fit no value stand for the values of most similar spelling"
            warnings.append(f"{problem}, or for any value: {listed(unread)}")
        if loaded is not None and study is not None:
            noise = kind_of(loaded.scenario).noise_of_cells(study, names[column], shared[column].astype("str"))
            if noise is not None:
                label_of_cell, model = noise
                linked = replace(linked, noise=model[label_of_cell[np.unique(label, return_index=True)[1]]])
        columns.append(linked)
        labels.append(label)
        values.append(value_of_known[value])
    first_row, of_row = distinct_rows(labels, len(shared))
    first_cell, of_person = distinct_rows(values, len(register))
    rows, cells = (np.column_stack(codes).astype(np.int32) for codes in (labels, values))
    rows, cells = rows[first_row], cells[first_cell]
    return Sides(columns, rows, cells, np.bincount(of_person)), of_row, of_person, tuple(warnings)


def _column(
    name: str,
    hierarchy: Hierarchy,
    label: Callable[[str], str],
    cells: Sequence[str],
    known: Sequence[str],
    people: Counts,
) -> tuple[LinkedColumn, Counts, list[str]]:
    """Return a column, the value of each known category, and the cells that fit no value.

    Parameters
    ----------
    name : str
        Name of the column.
    hierarchy : Hierarchy
    label : callable
        Function that returns the category for a value as it is written in files.
    cells, known : sequence of str
        Distinct texts of the released file, and categories of the register.
    people : ndarray of int64, shape (n_known,)
        Number of rows of the register with each text.
    """
    categories, reader = hierarchy.attribute.categories, CellReader(hierarchy, label)
    others = [name for name in known if name not in {*categories, *_MISSING}]
    values = (*categories, *others, "")
    # Of equal names, such as an empty category and a missing value, the first one counts.
    place = {name: number for number, name in reversed(list(enumerate(values)))}
    value = np.array([place.get(name, len(values) - 1) for name in known], dtype=np.int64)
    covers, unread = np.ones((len(cells), len(values)), dtype=np.bool_), list[str]()
    for number, cell in enumerate(cells):
        members = reader.read(cell)
        if members is None:
            unread.append(cell)
            edits = cdist([cell.strip()], categories, scorer=OSA.distance)[0]
            members = edits == edits.min() if edits.min() <= _MOST_EDITS else np.ones(len(categories), dtype=np.bool_)
        # A value that the scenario does not know fits a cell that may denote any value.
        covers[number, :-1] = np.append(members, np.full(len(others), members.all()))
    counts = np.bincount(value, people, len(values)).astype(np.int64)
    return LinkedColumn(name, tuple(cells), values, covers, counts), value, unread


def _fits(sides: Sides, some: NDArray[np.intp]) -> Floats:
    """Return how many people fit each row in all columns, and in all columns but each one; see `link`.

    The latter are computed for rows that few people fit, and for the rows `some`.
    """
    candidates, models = Candidates(sides.cells, sides.people), [column.likelihood for column in sides.columns]
    fits = np.full((len(sides.rows), len(models) + 1), np.inf)
    fits[:, 0] = candidates.match(sides.rows, models).total
    few = np.union1d(np.flatnonzero(fits[:, 0] <= MOST_BESIDE_ERRORS), some)
    for place, model in enumerate(models):
        others = [*models[:place], unknown(*model.shape), *models[place + 1 :]]
        fits[few, place + 1] = candidates.match(sides.rows[few], others).total
    return fits


def _posteriors(
    pairs: pd.DataFrame,
    missed: Floats,
    sides: Sides,
    units: RowSets,
    people: RowSets,
    coverage: float,
    *,
    is_linked: bool,
) -> pd.DataFrame:
    """Return the most probable people of each set of released rows.

    A released row is equally probably each row of its person in the register. The rows of a unit (one row, or the
    linked rows of a person) are independent given the person. For the game, people outside the register have the same
    values as people in it; for the attack, their likelihood is that of a random pair.

    Parameters
    ----------
    pairs, missed : DataFrame, ndarray
        See `link`.
    sides : Sides
    units, people : RowSets
        Sets of distinct released rows, and of distinct people.
    coverage : float
        Probability that the person of a row is in the register.
    is_linked : bool
        Whether the file links the rows of a person.

    Returns
    -------
    DataFrame
        Columns ``unit`` and ``set`` (numbers of the sets), and `ESTIMATES`.
    """
    models = [column.model for column in sides.columns]
    row, cell = pairs["row"].to_numpy(np.int64), pairs["cell"].to_numpy(np.int64)
    factors = pd.DataFrame({"row": row, "cell": cell, "attack": np.exp(pairs["weight"].to_numpy(np.float64))})
    factors["game"] = joint_likelihood(sides.rows[row], sides.cells[cell], models)
    entries = pd.DataFrame({"set": people.owner, "cell": people.cells})
    entries["share"] = people.rows / people.rows_of_person[people.owner]
    each = factors.merge(entries, on="cell")
    each[["attack", "game"]] = each[["attack", "game"]].mul(each["share"], axis=0)
    each = each.groupby(["row", "set"], as_index=False)[["attack", "game"]].sum()
    members = pd.DataFrame({"unit": units.owner, "row": units.cells, "times": units.rows})
    members = members[members["row"].isin(each["row"])]
    needed = members.groupby("unit").size()
    joint = members.merge(each, on="row")
    with np.errstate(divide="ignore"):
        for name in ("attack", "game"):
            joint[name] = np.log(joint[name]) * joint["times"]
    joint = joint.groupby(["unit", "set"], as_index=False).agg(
        attack=("attack", "sum"), game=("game", "sum"), n=("row", "size")
    )
    joint = joint[joint["n"] == joint["unit"].map(needed)].reset_index(drop=True)
    of_set = joint["set"].to_numpy()
    # Without links, a person with many rows in the register probably has many rows in the file.
    shares = np.ones(people.n_sets) if is_linked else people.rows_of_person.astype(np.float64)
    prior = (shares / (shares @ people.people))[of_set]
    odds = np.exp(joint["attack"]) * coverage * prior / (1 - coverage * prior)
    joint["match_probability"] = (odds / (1 + odds)).where(odds < np.inf, 1.0)
    outside = (1 - coverage) / coverage
    with np.errstate(divide="ignore"):
        complete = members["times"] * np.log1p(-missed[members["row"]])
    left = 1 - np.exp(complete.groupby(members["unit"]).sum()[joint["unit"]].to_numpy())
    for name, estimate in (("attack", "probability"), ("game", "predicted")):
        weight = joint[name] + np.log(prior)
        highest = weight.groupby(joint["unit"]).transform("max").clip(lower=-_LARGEST)
        scaled = np.exp(weight - highest)
        total = (scaled * people.people[of_set]).groupby(joint["unit"]).transform("sum").to_numpy()
        total = total + (outside * total if name == "game" else (outside + left) * np.exp(-highest.to_numpy()))
        joint[estimate] = np.divide(scaled, total, out=np.zeros(len(joint)), where=total > 0)
    if sides.has_noise:
        # Blocking misses people whose values were changed, so the sum is over the whole register. Linked rows have one
        # combined label in each column.
        labels, combined = [], []
        for place, model in enumerate(models):
            of_rows = np.repeat(sides.rows[units.cells, place], units.rows)
            sets, of_unit = RowSets.from_rows(of_rows, np.repeat(units.owner, units.rows))
            labels.append(of_unit)
            combined.append(np.multiply.reduceat(model[sets.cells] ** sets.rows[:, None], sets.start[:-1]))
        released = np.column_stack(labels).astype(np.int32)
        prior_of_row = people.rows / (people.rows_of_person[people.owner] if is_linked else 1)
        counts = np.bincount(people.cells, prior_of_row * people.people[people.owner], len(sides.cells))
        total = Candidates(sides.cells, counts).match(released, combined).total[joint["unit"]]
        entries_of_set, start = people.entries_of(of_set)
        rows, cells = np.repeat(joint["unit"].to_numpy(), np.diff(start)), sides.cells[people.cells[entries_of_set]]
        weight = joint_likelihood(released[rows], cells, combined) * prior_of_row[entries_of_set]
        weight = np.add.reduceat(weight, start[:-1])
        share = np.divide(weight, total, out=np.zeros(len(joint)), where=total > 0)
        joint["predicted"] = coverage * share
    best = joint.groupby("unit")["probability"].transform("max")
    return joint.loc[joint["probability"] >= best * (1 - 1e-9), ["unit", "set", *ESTIMATES]].reset_index(drop=True)


def _claims(
    probable: pd.DataFrame,
    unit_set: NDArray[np.intp],
    person_set: NDArray[np.intp],
    options: _Options,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the claims of the attack: unit, person and `ESTIMATES`.

    Claims are made in the order of their probability; equal probabilities are in random order. A unit claims one of its
    most probable people who is not yet claimed, if the claim pays.

    Parameters
    ----------
    probable : DataFrame
        See `_posteriors`.
    unit_set, person_set : ndarray of int, shape (n_units,) and (n_people,)
        Set of each unit and of each person.
    options : _Options
    rng : numpy.random.Generator
    """
    probable = probable[probable["probability"] * options.gain > options.cost]
    choices = probable.groupby("unit").indices
    sets = probable["set"].to_numpy()
    order = rng.permutation(len(person_set))
    waiting = {
        number: order[rows] for number, rows in pd.Series(person_set[order]).groupby(person_set[order]).indices.items()
    }
    left = {number: len(waiting[number]) for number in np.unique(sets).tolist()}
    highest = probable.groupby("unit")["probability"].max().reindex(unit_set).to_numpy()
    chosen = rng.permutation(np.flatnonzero(highest > 0))
    claimed = []
    for unit in chosen[np.argsort(-highest[chosen], kind="stable")].tolist():
        rows = choices[unit_set[unit]]
        free = np.array([left[number] for number in sets[rows].tolist()])
        if free.any():
            row = rows[np.searchsorted(np.cumsum(free), rng.integers(free.sum()), side="right")]
            left[sets[row]] -= 1
            claimed.append((unit, waiting[sets[row]][left[sets[row]]], row))
    found = pd.DataFrame(claimed, columns=["unit", "person", "row"], dtype=np.int64)
    return found[["unit", "person"]].join(probable.iloc[found["row"]][list(ESTIMATES)].reset_index(drop=True))


def _summary(claims: pd.DataFrame, options: _Options) -> dict[str, float]:
    """Return the numbers of claims, predicted and realised; see `AttackResult`."""
    n, correct = len(claims), claims.get("correct")
    number = successes(claims["predicted"].to_numpy())
    predicted = [claims["predicted"].sum(), number.quantile(0.025), number.quantile(0.975)]
    summary: dict[str, float] = {"claims": n}
    for suffix, value in zip(("", "_low", "_high"), predicted, strict=True):
        summary |= {
            f"predicted{suffix}": float(value),
            f"payoff_predicted{suffix}": float(options.gain * value - options.cost * n),
        }
    summary["expected"] = float(claims["probability"].sum())
    if correct is not None:
        summary |= {**_precision(correct), "payoff": float(options.gain * correct.sum() - options.cost * n)}
        summary |= {f"brier_{each}": float(((claims[each] - correct) ** 2).mean()) for each in ESTIMATES}
    return summary


def _disagreement(summary: Mapping[Any, Any], claims: pd.DataFrame, errors: pd.DataFrame) -> tuple[str, ...]:
    """Return a warning if the attack expects another number of correct claims than predicted.

    The numbers differ if each is outside the 95 % interval of the other. The reason is that the attack estimates other
    error rates than the prediction assumes; the warning names the column in which they differ most. `summary`, `claims`
    and `errors` are tables of an `AttackResult`.
    """
    number = successes(claims["probability"].to_numpy())
    if summary["predicted_low"] <= summary["expected"] <= summary["predicted_high"] or number.quantile(
        0.025
    ) <= summary["predicted"] <= number.quantile(0.975):
        return ()
    column = max(errors.to_dict("records"), key=lambda each: abs(each["estimated"] - each["stated"]))
    return (
        f"the prediction assumes that {column['stated']:.1%} of the cells of column {column['column']!r} do not fit "
        f"their person, and the attack estimates {column['estimated']:.1%}: it expects {summary['expected']:,.0f} "
        f"correct claims instead of {summary['predicted']:,.0f}. State changed values in section noise of a scenario, "
        "and with coverage how many people the register has",
    )


def _by_probability(claims: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables ``thresholds`` and ``reliability`` of an `AttackResult`."""
    has_truth = "correct" in claims
    thresholds = []
    for threshold in _THRESHOLDS:
        above = claims[claims["probability"] >= threshold]
        row = {"threshold": threshold, "claims": len(above), "predicted": above["predicted"].mean()}
        thresholds.append({**row, **_precision(above["correct"])} if has_truth else row)
    reliability = []
    for estimate in ESTIMATES if has_truth else ():
        of_class = (claims[estimate] * 10).astype(int).clip(upper=9)
        for tenth in sorted(of_class.unique().tolist()):
            rows, bounds = claims[of_class == tenth], {"estimate": estimate, "from": tenth / 10, "to": (tenth + 1) / 10}
            row = {**bounds, "claims": len(rows), "mean": rows[estimate].mean()}
            reliability.append({**row, **_precision(rows["correct"])})
    return pd.DataFrame(thresholds), pd.DataFrame(reliability, columns=_RELIABILITY)


def _precision(correct: pd.Series[bool]) -> dict[str, float]:
    """Return number and share of correct claims, with the Wilson interval of the share."""
    n, number = len(correct), int(correct.sum())
    low, high = wilson_interval(number / max(n, 1), n)
    return {"correct": number, "precision": correct.mean(), "precision_low": low, "precision_high": high}
