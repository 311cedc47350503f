"""Probabilistic record linkage with Splink (Fellegi and Sunter 1969): match weights of released rows and people.

Splink blocks, trains and scores. A column of a pair is at one of these levels: the released cell covers the person's
value (one level for cells that cover a similar share of people), the texts are similar (a typo), or neither. A missing
value on either side has no weight. Rows with equal cells, and people with equal values, are linked once.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.populations.population import Codes, Counts
from reidsim.releases.records import Members

Floats = NDArray[np.float64]

# Shares of a row's own people at the levels "covers" and "similar", before training.
_COVERS, _SIMILAR = 0.98, 0.01
# Distinct rows that train a column, and random pairs from which chance agreement is estimated. With 500 rows, the
# standard error of an error rate of 1 % is 0.4 %, and training takes about a second per column.
_TRAINING_ROWS, _RANDOM_PAIRS = 500, 200_000
# With fewer rows, shares before training are used.
_FEWEST = 50
# People from whom chance agreement is estimated in a column without training rows.
_PEOPLE = 2_000
# Class of a label that covers any value and of a missing value, and class of other values of people.
_ANYTHING, _PERSON = 0, 99
_MEMORY = "2GB"
# The rules that search a row are the binary digits of an integer of 64 bits.
MOST_COLUMNS = 60


@dataclass(frozen=True, eq=False)
class LinkedColumn:
    """A column of a released file and of a register.

    Parameters
    ----------
    labels : tuple of str
        Distinct cells of the released column.
    values : tuple of str
        Distinct values of the register's column; the last one stands for a missing value.
    covers : ndarray of bool, shape (n_labels, n_values)
        Whether each label may denote each value. A missing value fits every label.
    people : ndarray of int64, shape (n_values,)
        Number of people with each value.
    noise : ndarray of float64, shape (n_labels, n_known), optional
        Probability of each label given each of the first values, if another program changed values; see
        `reidsim.releases.noise`.
    """

    labels: tuple[str, ...]
    values: tuple[str, ...]
    covers: Members
    people: Counts
    noise: Floats | None = None

    @cached_property
    def share(self) -> Floats:
        """Share of people with a known value that each label covers, shape (n_labels,)."""
        known = self.people[:-1]
        return np.asarray(self.covers[:, :-1] @ known / max(known.sum(), 1))

    @cached_property
    def size_class(self) -> NDArray[np.int64]:
        """Class of each label: the power of ten of its share of people, from 1; 0 if it covers any value."""
        power = 1 - np.floor(np.log10(np.maximum(self.share, 1e-9))).astype(np.int64)
        return np.where(self.covers.all(axis=1), _ANYTHING, power)

    @property
    def likelihood(self) -> Floats:
        """Model of the column without noise (see `reidsim.releases.noise`); for a missing value, the label's share."""
        return np.column_stack([self.covers[:, :-1].astype(np.float64), self.share])

    @property
    def model(self) -> Floats:
        """Model of the column with its noise, shape (n_labels, n_values).

        A missing value, and a value that the model does not know, counts as drawn from the people.
        """
        if self.noise is None:
            return self.likelihood
        known = self.noise.shape[1]
        drawn = self.noise @ self.people[:known] / max(self.people[:known].sum(), 1)
        return np.column_stack([self.noise, np.repeat(drawn[:, None], len(self.values) - known, axis=1)])


class Sides(NamedTuple):
    """Distinct released rows and distinct people.

    Attributes
    ----------
    columns : sequence of LinkedColumn
    rows : ndarray of int, shape (n_rows, n_columns)
        Labels of the distinct rows.
    cells : ndarray of int, shape (n_cells, n_columns)
        Values of the distinct combinations of the register.
    people : ndarray of int, shape (n_cells,)
        Number of rows of the register with each combination.
    """

    columns: Sequence[LinkedColumn]
    rows: Codes
    cells: Codes
    people: NDArray[np.intp]

    @property
    def has_noise(self) -> bool:
        """Whether another program changed values of a column."""
        return any(column.noise is not None for column in self.columns)


def link(sides: Sides, search: Members, seed: int) -> pd.DataFrame:
    """Return the match weights of the pairs of a released row and a person that blocking finds.

    Parameters
    ----------
    sides : Sides
    search : ndarray of bool, shape (n_rows, 1 + n_columns)
        Whether to search for the people who fit each row in all columns, and in all columns but each one.
    seed : int
        Seed of random pairs and training rows.

    Returns
    -------
    DataFrame
        Columns ``row``, ``cell`` and ``weight``: the natural logarithm of the Bayes factor of a match.

    Raises
    ------
    InputError
        If Splink is not installed.
    """
    try:
        import duckdb
        from splink import DuckDBAPI, Linker, SettingsCreator
        from splink.blocking_rule_library import CustomRule
    except ImportError as error:
        hint = "run pip install 'reidsim[attack]'"
        raise InputError(f"package {error.name} is needed to attack a file", hint=hint) from None

    def linker(released: pa.Table, register: pa.Table, prior: float, comparisons: Any, rules: Any) -> Any:
        connection = duckdb.connect()
        connection.execute(f"SET memory_limit = '{_MEMORY}'; SET enable_progress_bar = false")
        api = DuckDBAPI(connection)
        # The first table is the left one of a pair.
        tables = [api.register(table, dataset_display_name=name) for name, table in (("a", released), ("b", register))]
        settings = SettingsCreator("link_only", comparisons, rules, prior, retain_matching_columns=False)
        return Linker(tables, settings, log_level=logging.ERROR)

    columns, rows, cells, people = sides
    comparisons, rng = [], np.random.default_rng(seed)
    for place, column in enumerate(columns):
        row, cell = _training_pairs(sides, search[:, place + 1], place, rng)
        own, is_enough = np.unique(row), len(np.unique(row)) >= _FEWEST
        if not is_enough:
            own = rng.permutation(len(rows))[:_TRAINING_ROWS]
            cell = rng.choice(len(cells), _PEOPLE, p=people / people.sum())
            row = np.zeros(len(cell), dtype=np.int64)
        tables = _table(columns, rows[own], [place], own), _table(columns, cells[cell], [place], row, of_people=True)
        # Splink divides by the odds, which are infinite if all pairs are matches.
        training = linker(*tables, len(own) / (len(row) + 1), [_comparison(place, column, rows[:, place])], [])
        training.training.estimate_u_using_random_sampling(max_pairs=_RANDOM_PAIRS, seed=seed, num_chunks=1)
        if is_enough:
            training.training.estimate_parameters_using_expectation_maximisation(
                CustomRule("l.bits = r.bits"), fix_probability_two_random_records_match=True
            )
        comparisons += training.misc.save_model_to_json()["comparisons"]
    rules = [
        CustomRule(condition, arrays_to_explode=exploded)
        for place in range(-1, len(columns))
        if search[:, place + 1].any()
        for condition, exploded in [_rule(sides, search[:, place + 1], place)]
    ]
    if not rules:
        return pd.DataFrame({"row": np.zeros(0, np.int64), "cell": np.zeros(0, np.int64), "weight": np.zeros(0)})
    prior, every = 1 / max(int(people.sum()), 2), range(len(columns))
    released = _table(columns, rows, every, search @ (1 << np.arange(search.shape[1])))
    register = _table(columns, cells, every, np.zeros(len(cells), dtype=np.int64), of_people=True)
    pairs = linker(released, register, prior, comparisons, rules).inference.predict().as_duckdbpyrelation()
    # Several rules may find a pair.
    query = "select distinct unique_id_l as row, unique_id_r as cell, match_weight from pairs"
    found: pd.DataFrame = pairs.query("pairs", query).df()
    found["weight"] = found.pop("match_weight") * np.log(2) - np.log(prior / (1 - prior))
    return found


def _table(
    columns: Sequence[LinkedColumn], codes: Codes, places: Sequence[int], bits: Counts, *, of_people: bool = False
) -> pa.Table:
    """Return the table of one side for Splink: for each column, its covered values, text and class.

    `bits` has the rules by which a row is searched, as binary digits, or the row whose pairs train a column.
    """
    table = {"unique_id": pa.array(np.arange(len(codes))), "bits": pa.array(bits)}
    for place in places:
        column, code = columns[place], pa.array(codes[:, place])
        n = len(column.values) - 1
        if of_people:
            values, texts = [*([value] for value in range(n)), list(range(n))], column.values
            classes = np.where(np.arange(n + 1) < n, _PERSON, _ANYTHING)
        else:
            values, texts = [np.flatnonzero(each).tolist() for each in column.covers[:, :-1]], column.labels
            classes = column.size_class
        table[f"c{place}"] = pa.array(values, type=pa.list_(pa.int64())).take(code)
        table[f"t{place}"] = pa.array(texts, type=pa.string()).take(code)
        table[f"k{place}"] = pa.array(classes).take(code)
    return pa.table(table)


def _comparison(place: int, column: LinkedColumn, labels: Codes) -> Any:
    """Return the comparison of a column, with shares of levels before training."""
    from splink.comparison_level_library import CustomLevel
    from splink.comparison_library import CustomComparison

    c, t, k = (f"{letter}{place}" for letter in "ctk")
    classes, share = column.size_class[labels], column.share[labels]
    known = max(int((classes != _ANYTHING).sum()), 1)
    levels = [CustomLevel(f"least({k}_l, {k}_r) = {_ANYTHING}").configure(is_null_level=True)]
    by_chance = 0.0
    for each in np.unique(classes[classes != _ANYTHING]).tolist():
        of_class, chance = classes == each, float(share[classes == each].sum()) / known
        by_chance += chance
        level = CustomLevel(f"list_has_any({c}_l, {c}_r) and least({k}_l, {k}_r) = {each}")
        levels.append(
            level.configure(m_probability=_COVERS * float(of_class.sum()) / known, u_probability=max(chance, 1e-9))
        )
    alike = f"damerau_levenshtein({t}_l, {t}_r) <= 1 or jaro_winkler_similarity({t}_l, {t}_r) >= 0.92"
    rest = max(1.0 - by_chance, 1e-9)
    levels.append(CustomLevel(alike).configure(m_probability=_SIMILAR, u_probability=rest * _SIMILAR))
    other = CustomLevel("ELSE", label_for_charts="other")
    levels.append(other.configure(m_probability=1 - _COVERS - _SIMILAR, u_probability=rest * (1 - _SIMILAR)))
    return CustomComparison(output_column_name=c, comparison_levels=levels)


def _training_pairs(
    sides: Sides, narrow: Members, without: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and cell of each pair of a sampled row and a person who fits it in all columns but one.

    Only rows marked in `narrow` are sampled. One of the pairs of a row is a match, if the other columns have no errors.
    """
    rows, cells = np.flatnonzero(narrow), [np.zeros(0, dtype=np.int64)]
    sampled = rng.permutation(rows)[:_TRAINING_ROWS]
    others = sorted(set(range(len(sides.columns))) - {without}, key=lambda c: float(sides.columns[c].share.mean()))
    for row in sampled:
        fits = np.arange(len(sides.cells))
        for place in others:
            fits = fits[sides.columns[place].covers[sides.rows[row, place], sides.cells[fits, place]]]
        cells.append(np.repeat(fits, sides.people[fits]))
    return np.repeat(sampled, [len(fits) for fits in cells[1:]]), np.concatenate(cells)


def _rule(sides: Sides, use: Members, without: int) -> tuple[str, list[str]]:
    """Return the blocking rule of the people who fit a row in all columns but one, and the arrays that it explodes.

    Rows are joined by the values that they cover in some columns, and filtered by the others. Columns are added to the
    join while this lowers the number of joined rows and pairs, if columns are independent.
    """
    columns, rows, cells, _ = sides
    places = [place for place in range(len(columns)) if place != without]
    size, share = {}, {}
    for place in places:
        covers, code = columns[place].covers, rows[use, place]
        size[place] = covers.sum(axis=1)[code].astype(np.float64)
        of_value = np.bincount(cells[:, place], minlength=covers.shape[1])
        share[place] = (covers @ of_value / len(cells))[code]
    joined, exploded, pairs, cost = list[int](), np.ones(int(use.sum())), np.full(int(use.sum()), len(cells)), np.inf

    def cost_with(place: int) -> float:
        return float((exploded * size[place]).sum() + (pairs * share[place]).sum())

    while len(joined) < len(places):
        best = min((place for place in places if place not in joined), key=cost_with)
        if cost_with(best) >= cost:
            break
        cost, exploded, pairs = cost_with(best), exploded * size[best], pairs * share[best]
        joined.append(best)
    conditions = [f"l.c{place} = r.c{place}" for place in joined]
    conditions += [f"list_has_any(l.c{place}, r.c{place})" for place in places if place not in joined]
    conditions += [f"not list_has_any(l.c{without}, r.c{without})"] * (without >= 0)
    return " and ".join([*conditions, f"(l.bits & {1 << (without + 1)}) <> 0"]), [f"c{place}" for place in joined]
