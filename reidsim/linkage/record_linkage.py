"""Probabilistic record linkage with Splink (Fellegi and Sunter 1969): match weights of released rows and people.

Splink blocks, compares and scores. A column of a pair is at one of these levels: the released cell covers the person's
value, the texts are similar (a typo), or neither. A missing value on either side has no weight. Rows with equal cells,
and people with equal values, are linked once.

The error rates of all columns are trained together, from random rows. Each row has one person, whom blocking may miss.
Splink's own training would consider pairs one by one, and only people who fit in the columns of a blocking rule, so
that rates of a file with errors in several columns would be too low.
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

# Errors of a column are considered for rows that at most this number of people fit in the other columns. With more, a
# claim has a probability below 1/50. Training rows have a higher limit, since a low one would select rare values.
MOST_BESIDE_ERRORS, _MOST_OF_TRAINING = 50, 200
# Shares of rows whose cell covers the person's value, is similar to it, or neither, before training; and the number of
# training rows that would have the same weight.
_BEFORE, _WEIGHT = np.array([0.98, 0.01, 0.01]), 5
# Training rows, random pairs and people from whom chance agreement is estimated, and steps of training. With 500 rows,
# the standard error of an error rate of 1 % is 0.4 %.
TRAINING_ROWS, _RANDOM_PAIRS, _PEOPLE, _STEPS = 500, 200_000, 2_000, 200
# Share of people with a value that nobody has.
_LEAST = 1e-9
_MEMORY = "2GB"
# The rules that search a row are the binary digits of an integer of 64 bits.
MOST_COLUMNS = 60


@dataclass(frozen=True, eq=False)
class LinkedColumn:
    """A column of a released file and of a register.

    Parameters
    ----------
    name : str
        Name of the column in both.
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

    name: str
    labels: tuple[str, ...]
    values: tuple[str, ...]
    covers: Members
    people: Counts
    noise: Floats | None = None

    @cached_property
    def share(self) -> Floats:
        """Share of people with a known value that each label covers, shape (n_labels,)."""
        known = self.people[:-1]
        return np.asarray(self.covers[:, :-1] @ known / max(known.sum(), 1)).clip(_LEAST)

    @cached_property
    def excludes(self) -> Members:
        """Whether each label excludes any value, shape (n_labels,)."""
        return np.logical_not(self.covers.all(axis=1))

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

    def stated_error(self, codes: Codes) -> float:
        """Return the share of rows whose cell does not cover the person's value, by the column's noise.

        `codes` are the labels of the rows, shape (n_rows,); cells that exclude no value are left out.
        """
        if self.noise is None:
            return 0.0
        known = self.noise.shape[1]
        joint = self.noise * self.people[:known]
        wrong = np.where(self.covers[:, :known], 0.0, joint).sum(axis=1) / joint.sum(axis=1).clip(_LEAST)
        return float(wrong[codes[self.excludes[codes]]].mean()) if self.excludes[codes].any() else 0.0


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


def link(
    sides: Sides, fits: Floats, some: NDArray[np.intp], most: float, coverage: float, seed: int
) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return the match weights of the pairs of a released row and a person that blocking finds.

    Parameters
    ----------
    sides : Sides
    fits : ndarray of float64, shape (n_rows, 1 + n_columns)
        Number of people who fit each row in all columns, and in all columns but each one; infinite if unknown.
    some : ndarray of int, shape (n_training,)
        Rows that train the error rates, drawn at random.
    most : float
        A row is searched only if fewer people fit it.
    coverage : float
        Probability that the person of a row is in the register.
    seed : int
        Seed of random pairs.

    Returns
    -------
    pairs : DataFrame
        Columns ``row``, ``cell`` and ``weight``: the natural logarithm of the Bayes factor of a match.
    missed : ndarray of float64, shape (n_rows,)
        Probability that no pair has the person of a row, if this person is in the register.
    errors : ndarray of float64, shape (n_columns,)
        Estimated share of rows whose cell does not cover the person's value, among cells that exclude any value.

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

    columns, rows, cells, people = sides
    n, rng = int(people.sum()), np.random.default_rng(seed)
    prior, levels = 1 / max(n, 2), [f"gamma_c{place}" for place in range(len(columns))]

    def linker(own: Codes, others: Codes, bits: Counts, shares: Floats, rules: Any, *, training: bool) -> Any:
        connection = duckdb.connect()
        connection.execute(f"SET memory_limit = '{_MEMORY}'; SET enable_progress_bar = false")
        api = DuckDBAPI(connection)
        tables = _table(columns, own, bits), _table(columns, others, np.zeros(len(others), np.int64), of_people=True)
        # The first table is the left one of a pair.
        both = [api.register(table, dataset_display_name=name) for name, table in zip("ab", tables, strict=True)]
        comparisons = [_comparison(place, *share) for place, share in enumerate(shares)]
        settings = SettingsCreator("link_only", comparisons, rules, prior, retain_matching_columns=training)
        model = Linker(both, settings, log_level=logging.ERROR)
        for place, column in enumerate(columns):
            chance = pa.table({f"n{place}": np.arange(len(column.share)), f"tf_n{place}": column.share})
            model.table_management.register_term_frequency_lookup(api.register(chance), f"n{place}")
        return model

    def pairs_of(some: NDArray[np.intp], search: Members, shares: Floats, *, training: bool) -> pd.DataFrame:
        rules = [
            CustomRule(condition, arrays_to_explode=exploded)
            for place in range(-1, len(columns))
            if search[:, place + 1].any()
            for condition, exploded in [_rule(sides, some[search[:, place + 1]], place)]
        ]
        shown = ["unique_id_l as row", "unique_id_r as cell", "match_weight", *(levels if training else ())]
        if not rules:
            return pd.DataFrame(0, index=[], columns=[name.split()[-1] for name in shown])
        model = linker(rows[some], cells, search @ (1 << np.arange(search.shape[1])), shares, rules, training=training)
        scored = model.inference.predict().as_duckdbpyrelation()
        # Several rules may find a pair.
        pairs: pd.DataFrame = scored.project(", ".join(shown)).distinct().df()
        return pairs

    # The last two columns are the shares of random pairs that are similar, and of others that are not covered.
    shares = np.column_stack([np.tile(_BEFORE, (len(columns), 1)), np.full((len(columns), 2), 0.5)])
    others = cells[rng.choice(len(cells), _PEOPLE, p=people / n)]
    model = linker(rows[some], others, np.zeros(len(some), np.int64), shares, [], training=True)
    model.training.estimate_u_using_random_sampling(max_pairs=_RANDOM_PAIRS, seed=seed, num_chunks=1)
    for share, comparison in zip(shares, model.misc.save_model_to_json()["comparisons"], strict=True):
        *_, alike, rest = comparison["comparison_levels"]
        share[3:] = [each.get("u_probability", 1 / _RANDOM_PAIRS) for each in (alike, rest)]
    excludes = np.column_stack([column.excludes[rows[:, place]] for place, column in enumerate(columns)])
    search = fits[some] <= _MOST_OF_TRAINING
    search[:, 0] = False
    pairs = pairs_of(some, search, shares, training=True)
    pairs["times"] = people[pairs["cell"].to_numpy(np.int64)] / n
    # Pairs of a row with equal levels count as one. People who fit a row were counted before.
    pairs = pairs.groupby(["row", *levels])[["times"]].sum().reset_index()
    row = np.concatenate([pairs["row"].to_numpy(np.int64), np.arange(len(some))])
    level = np.concatenate([pairs[levels].to_numpy(np.int64), np.where(excludes[some], 2, -1)])
    times = np.concatenate([pairs["times"].to_numpy(), fits[some, 0] / n])
    for place, column in enumerate(columns):
        covered, found = column.share[rows[some[row], place]], level[:, place]
        times /= np.select([found == 2, found >= 0], [covered, shares[place, np.where(found == 1, 3, 4)]], 1.0)
    search[:, 0] = True
    shares[:, :3] = _trained(row, level, times, search, excludes[some], (1 - coverage) / coverage)
    search = np.column_stack([fits[:, :1] < most, fits[:, 1:] <= min(MOST_BESIDE_ERRORS, most)])
    pairs = pairs_of(np.arange(len(rows)), search, shares, training=False)
    pairs["weight"] = pairs.pop("match_weight") * np.log(2) - np.log(prior / (1 - prior))
    return pairs, 1 - _found(shares[:, :3], search, excludes).sum(axis=1), 1 - shares[:, 0]


def _found(shares: Floats, search: Members, excludes: Members) -> Floats:
    """Return the probability that blocking finds a row's person, without and with an error in each column.

    Parameters
    ----------
    shares : ndarray of float64, shape (n_columns, 3)
        Shares of rows whose cell covers the person's value, is similar to it, or neither.
    search : ndarray of bool, shape (n_rows, 1 + n_columns)
        Whether each row is searched in all columns, and in all columns but each one.
    excludes : ndarray of bool, shape (n_rows, n_columns)
        Whether the cell excludes any value.
    """
    covers = np.where(excludes, shares[:, 0], 1.0)
    every = covers.prod(axis=1, keepdims=True)
    return np.hstack([every, every * (1 - covers) / covers]) * search


def _trained(row: Counts, level: Codes, times: Floats, search: Members, excludes: Members, outside: float) -> Floats:
    """Return the shares of rows with each level, by column (expectation maximization); see `_found`.

    Each row has one person, who is in a pair, or missed by blocking, or outside the register.

    Parameters
    ----------
    row, level, times : ndarray, of shape (n_pairs,), (n_pairs, n_columns), and (n_pairs,)
        Row of each pair, Splink's numbers of its levels (2 for covered, 1 for similar, 0 for neither, -1 for missing),
        and its share of the people divided by the chances of its levels.
    search, excludes : ndarray
        See `_found`.
    outside : float
        Odds that the person of a row is not in the register.
    """
    shares, columns = np.tile(_BEFORE, (level.shape[1], 1)), np.arange(level.shape[1])
    for _ in range(_STEPS):
        found = _found(shares, search, excludes)
        missed = 1 - found.sum(axis=1)
        weight = times * np.column_stack([shares[:, ::-1], np.ones(len(columns))])[columns, level].prod(axis=1)
        total = np.bincount(row, weight, len(search)) + missed + outside
        weight /= total[row]
        wrong = excludes * (1 - shares[:, 0]) - found[:, 1:]
        of_missed = np.stack([excludes * missed[:, None] - wrong, wrong]) / total[:, None]
        counts = np.column_stack([weight @ (level == each) for each in (2, 1, 0)])
        counts[:, 0] += of_missed[0].sum(axis=0)
        counts[:, 1:] += shares[:, 1:] * (of_missed[1].sum(axis=0) / shares[:, 1:].sum(axis=1))[:, None]
        counts += _WEIGHT * _BEFORE
        shares = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _table(columns: Sequence[LinkedColumn], codes: Codes, bits: Counts, *, of_people: bool = False) -> pa.Table:
    """Return the table of one side for Splink: for each column, its covered values, text and label.

    A label that excludes no value, and a missing value, are null. `bits` has the rules by which a row is searched, as
    binary digits.
    """
    table = {"unique_id": pa.array(np.arange(len(codes))), "bits": pa.array(bits)}
    for place, column in enumerate(columns):
        n, code = len(column.values) - 1, pa.array(codes[:, place])
        if of_people:
            values, texts = [*([value] for value in range(n)), list(range(n))], [*column.values[:-1], None]
            labels = pa.nulls(n + 1, pa.int64())
        else:
            values, texts = [np.flatnonzero(each).tolist() for each in column.covers[:, :-1]], list(column.labels)
            labels = pa.array(np.arange(len(texts)), mask=~column.excludes)
        table[f"c{place}"] = pa.array(values, type=pa.list_(pa.int64())).take(code)
        table[f"t{place}"] = pa.array(texts, type=pa.string()).take(code)
        table[f"n{place}"] = labels.take(code)
    return pa.table(table)


def _comparison(place: int, covers: float, similar: float, other: float, alike: float, rest: float) -> Any:
    """Return the comparison of a column, given shares of matches and of random pairs.

    Splink divides the share of covered values by the share of people whom the label covers (term frequency).
    """
    from splink.comparison_level_library import CustomLevel
    from splink.comparison_library import CustomComparison

    c, t, n = (f"{letter}{place}" for letter in "ctn")
    levels = [
        CustomLevel(f"{n}_l is null or {t}_r is null").configure(is_null_level=True),
        CustomLevel(f"list_has_any({c}_l, {c}_r)").configure(
            m_probability=covers, u_probability=0.5, tf_adjustment_column=n, disable_tf_exact_match_detection=True
        ),
        CustomLevel(
            f"damerau_levenshtein({t}_l, {t}_r) <= 1 or jaro_winkler_similarity({t}_l, {t}_r) >= 0.92"
        ).configure(m_probability=similar, u_probability=alike),
        CustomLevel("ELSE", label_for_charts="other").configure(m_probability=other, u_probability=rest),
    ]
    return CustomComparison(output_column_name=c, comparison_levels=levels)


def _rule(sides: Sides, some: NDArray[np.intp], without: int) -> tuple[str, list[str]]:
    """Return the blocking rule of the people who fit a row in all columns but one, and the arrays that it explodes.

    Rows are joined by the values that they cover in some columns, and filtered by the others. Columns are added to the
    join while this lowers the number of joined rows and pairs, if columns are independent.
    """
    columns, rows, cells, _ = sides
    places = [place for place in range(len(columns)) if place != without]
    size, share = {}, {}
    for place in places:
        covers, code = columns[place].covers, rows[some, place]
        size[place] = covers.sum(axis=1)[code].astype(np.float64)
        of_value = np.bincount(cells[:, place], minlength=covers.shape[1])
        share[place] = (covers @ of_value / len(cells))[code]
    joined, exploded, pairs, cost = list[int](), np.ones(len(some)), np.full(len(some), len(cells)), np.inf

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
