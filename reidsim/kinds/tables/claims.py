"""Claims about people from a released or synthetic file, compared with people who are not in the file.

An adversary knows a person's quasi-identifiers, and makes claims:

- identity: the person of a row;
- attribute: the sensitive value with the highest posterior probability. The likelihoods of the rows, given the person,
  are added up by sensitive value;
- membership: the person is in the file.

The evidence for membership is the ratio of two likelihoods of the file: one of its rows comes from the person (each row
with equal probability), or all rows come from other people. Let ``L_x(r)`` be the likelihood of row r given person x.
The ratio is the mean over rows of ``L_x(r) / M(r)``, where ``M(r)`` is the mean of ``L_i(r)`` over the people i of a
reference population. A ratio above 1 makes membership more probable, and the adversary makes the claim.

For people who are not in the file (the control), attribute claims are right as often as the file's statistics allow,
and every membership claim is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import refuse_first
from reidsim.core.numerics import wilson_interval
from reidsim.core.tables import read_table, require_columns, sniff_delimiter
from reidsim.core.wording import counted
from reidsim.games.outcomes import Equilibrium
from reidsim.kinds.tables.cells import ReleasedColumn
from reidsim.kinds.tables.release import attribute_labels, original_records
from reidsim.kinds.tables.study import TablesStudy
from reidsim.linkage.likelihood import Candidates, match_rows
from reidsim.populations.population import Codes
from reidsim.releases.lattice import Floats

COLUMNS = ("claim", "claims", "right", "success", "baseline", "advantage", "lower", "upper", "adversary_payoff", "pays")

# Probabilities are equal if they differ by less than this fraction.
_EQUAL = 1e-12
# Shares without a warning: largest of people of the control with an unknown value, smallest of records with a value of
# the control.
_MOST_UNKNOWN, _LEAST_SHARED = 0.05, 0.05


def claims_about_people(
    study: TablesStudy,
    frame: pd.DataFrame,
    columns: Sequence[ReleasedColumn],
    sensitive: Sequence[str],
    control: Path,
    played: Equilibrium | None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the claims that a file allows, one row per kind of claim, and warnings about the control.

    Equally many people of the original and of the control are tested. The reference population of membership claims is
    the population of the scenario, if there is one. Otherwise, it is every second person of the control, and the others
    are tested. A value of the control that no record has fits no row.

    Parameters
    ----------
    study : TablesStudy
    frame : DataFrame
        All columns of the released file, as text.
    columns : sequence of ReleasedColumn
        Its quasi-identifiers.
    sensitive : sequence of str
        Columns that the adversary infers.
    control : Path
        File of people who are not in the released file, with the columns of the original records.
    played : Equilibrium, optional
        Outcome of identity claims; None for synthetic files.

    Returns
    -------
    DataFrame
        ``claim`` (``identity``, ``attribute`` with the column, or ``membership``), ``claims`` (their number), ``right``
        (number of right claims, in expectation if the adversary guesses), ``success`` (``right`` / ``claims``),
        ``baseline`` (success without the person in the file: a guess among all people or, if the adversary looks
        people up, among all rows; the claims about the control; or 1/2), ``advantage`` (success less baseline) with its
        95 % interval ``lower`` to ``upper`` (Newcombe 1998, from Wilson intervals), ``adversary_payoff`` (per claim, in
        currency units, of the adversary who gains most) and ``pays`` (whether it is above 0).
    tuple of str

    Raises
    ------
    InputError
        If the control cannot be read, lacks a column, has fewer than two people, no value of the records in a column,
        or the same rows as the records or the released file.
    """
    source, originals = original_records(study.loaded)
    tested = _tested_people(study, control)
    notes = [*tested.notes, *_rows_of_others(tested.control, control, originals, frame)]
    # The largest entry of a label is 1, as without noise; nobody with a value that no record has fits a label.
    models = [np.pad(each.model / each.model.max(axis=1, keepdims=True), ((0, 0), (0, 1))) for each in columns]
    rows, n = np.column_stack([each.number for each in columns]).astype(np.int32), len(tested.members)
    found = []
    if played is not None:
        attacked = played.attacked
        among = study.linked_population.total
        if study.scenario.looks_up:
            among = min(among, len(rows))
        right = played.success_probability[attacked].sum()
        found.append(_assessed(study, "identity", attacked.sum(), right, 1.0 / among))
    for name in sensitive:
        require_columns(tested.control, [name], control)
        require_columns(originals, [name], source)
        known = originals[name].astype("str").iloc[tested.members]
        truth = pd.concat([known, tested.control[name].iloc[tested.strangers]]).str.strip()
        guesses = _right_guesses(rows, frame[name].str.strip(), truth, tested.codes, [each.T for each in models])
        found.append(_assessed(study, f"attribute {name}", n, guesses[:n].sum(), guesses[n:].mean(), n))
    claimed = _membership_ratios(rows, models, tested) > 1.0
    found.append(_assessed(study, "membership", claimed.sum(), claimed[:n].sum(), 0.5))
    return pd.DataFrame(found, columns=COLUMNS), tuple(notes)


class _TestedPeople(NamedTuple):
    """Tested people, and the reference population of membership claims.

    Attributes
    ----------
    control : DataFrame
        All columns of the control, as text.
    members, strangers : ndarray of int, shape (n,)
        Tested records of the original, and tested rows of the control.
    codes : ndarray of int32, shape (2 n, n_attributes)
        Values of the members, then of the strangers. A value that no record has is coded as the number of values.
    reference : ndarray of int32, shape (n_cells, n_attributes)
        Values of the people of the reference.
    people : ndarray of float64, shape (n_cells,)
        Number of people with these values.
    notes : list of str
        Warnings about attributes whose values the control hardly shares with the records.
    """

    control: pd.DataFrame
    members: NDArray[np.intp]
    strangers: NDArray[np.intp]
    codes: Codes
    reference: Codes
    people: Floats
    notes: list[str]


def _tested_people(study: TablesStudy, path: Path) -> _TestedPeople:
    """Read the control, and return the people who are tested, spread evenly over both files."""
    scenario, domain = study.scenario, study.lattice.domain
    control = read_table(path, delimiter=sniff_delimiter(path))
    refuse_first((len(control) < 2, "too few people", None, len(control), "at least 2 people"), source=path)
    labels = attribute_labels(control, scenario.columns, scenario.attributes, path)
    found = np.column_stack([each.labels.get_indexer(pd.Index(labels[each.name])) for each in domain.attributes])
    outside = np.where(found < 0, domain.shape, found).astype(np.int32)
    rows, reference, people = np.arange(1, len(outside), 2), outside[::2], np.ones(len(outside[::2]))
    if study.population is not None:
        population = study.population.marginal(domain.names)
        rows, reference = np.arange(len(outside)), population.cells
        people = population.counts.astype(np.float64)
    inside, notes = study.lattice.codes[study.cell_of_record], list[str]()
    for attribute, own, others in zip(domain.attributes, inside.T, outside.T, strict=True):
        column, known, shared = scenario.columns[attribute.name], others < attribute.size, np.isin(own, others)
        expected = f"values as in the records, such as {attribute.categories[np.bincount(own).argmax()]!r}"
        problem, found_first = "none of the values is known", control[column].iloc[0]
        refuse_first((not known.any(), problem, f"column {column!r}", found_first, expected), source=path)
        if known.mean() < 1 - _MOST_UNKNOWN or shared.mean() < _LEAST_SHARED:
            notes.append(
                f"column {column!r}: {(~known).sum():,} of {len(known):,} people of the control have an unknown value, "
                f"and {shared.sum():,} of {len(shared):,} records a value of the control: claims about membership may "
                "rest on this difference"
            )
    places = np.arange(min(len(inside), len(rows)))
    members, strangers = (places * size // len(places) for size in (len(inside), len(rows)))
    codes = np.concatenate([inside[members], outside[rows[strangers]]])
    return _TestedPeople(control, members, rows[strangers], codes, reference, people, notes)


def _rows_of_others(control: pd.DataFrame, path: Path, records: pd.DataFrame, released: pd.DataFrame) -> Iterator[str]:
    """Yield a warning if more rows of the control equal a record than of the records equal another record.

    Only columns that both tables have are compared; without people in both tables, the shares are equal in expectation.

    Parameters
    ----------
    control, records, released : DataFrame
        All columns, as text.
    path : Path
        File of the control.

    Raises
    ------
    InputError
        If the control has the rows of one of the other tables, in the same order.
    """
    n = len(control)
    for name, other in (("original records", records), ("released file", released)):
        both = [column for column in control if column in other]
        if not both:
            continue
        number = pd.concat([control[both], other[both].astype("str")]).groupby(both, sort=False).ngroup().to_numpy()
        same = n == len(other) and np.array_equal(number[:n], number[n:])
        problem, expected = f"the people are those of the {name}", "people who are not in the released file"
        refuse_first((same, problem, None, f"{n} equal rows", expected), source=path)
        times = np.bincount(number[n:], minlength=number.max() + 1)
        equal, usual = int((times[number[:n]] > 0).sum()), float((times[number[n:]] > 1).mean())
        if other is records and wilson_interval(equal / n, n)[0] > wilson_interval(usual, len(other))[1]:
            yield (
                f"{equal} of {counted(n, 'row')} of the control equal a record in all common columns, but only "
                f"{usual:.0%} of the records equal another one: people of the file in the control make claims about "
                "members look wrong"
            )


def _membership_ratios(rows: Codes, models: Sequence[Floats], tested: _TestedPeople) -> Floats:
    """Return the likelihood ratio of membership of each tested person, shape (2 n,); see the module.

    Parameters
    ----------
    rows : ndarray of int32, shape (n_rows, n_attributes)
        Numbers of the labels of each row.
    models : sequence of ndarray of float64, shape (n_labels, n_values + 1)
        Models of the columns, with largest entries of 1.
    tested : _TestedPeople
    """
    total = Candidates(tested.reference, tested.people).match(rows, models).total
    # One person with independent values is added: people outside the reference may fit a row that nobody in it fits.
    independent = np.ones(len(rows))
    for model, label, value in zip(models, rows.T, tested.reference.T, strict=True):
        shares = np.bincount(value, tested.people, model.shape[1]) + 1.0
        independent *= (model @ (shares / shares.sum()))[label]
    usual = (total + independent) / (tested.people.sum() + 1.0)
    return match_rows(tested.codes, rows, models, usual).total / len(rows)


def _right_guesses(
    rows: Codes, sensitive: pd.Series[str], truth: pd.Series[str], persons: Codes, given: Sequence[Floats]
) -> Floats:
    """Return the chance that the guess of each person's sensitive value is right, shape (n_persons,).

    The guess is one of the most probable values, at random. For a person whom no row fits, it is the most frequent
    value of the file.

    Parameters
    ----------
    rows : ndarray of int32, shape (n_rows, n_attributes)
        Numbers of the labels of each row.
    sensitive, truth : Series of str, shape (n_rows,) and (n_persons,)
        Sensitive value of each row, and true value of each person.
    persons : ndarray of int32, shape (n_persons, n_attributes)
        Codes of the persons' quasi-identifiers.
    given : sequence of ndarray of float64, shape (n_values, n_labels)
        Probability of each label, by value.
    """
    value_of_row, values = pd.factorize(sensitive)
    weights = np.empty((len(values), len(persons)))
    for value in range(len(values)):
        own = rows[value_of_row == value]
        weights[value] = Candidates(own, np.ones(len(own))).match(persons, given).total
    weights[:, weights.sum(axis=0) <= 0] = np.bincount(value_of_row)[:, None]
    best = weights >= weights.max(axis=0) * (1 - _EQUAL)
    code = values.get_indexer(pd.Index(truth))
    return np.where(code >= 0, best[code, np.arange(len(persons))] / best.sum(axis=0), 0.0)


def _assessed(
    study: TablesStudy, name: str, claims: int, right: float, baseline: float, n_baseline: int = 0
) -> dict[str, Any]:
    """Return a row of the table of claims.

    Parameters
    ----------
    study : TablesStudy
    name : str
        Kind of claim.
    claims, right : float
        Number of claims, and of right claims.
    baseline : float
        Success probability without the person in the file.
    n_baseline : int
        Number of claims about the control from which it is estimated; 0 if it is exact.
    """
    success = right / claims if claims else np.nan
    low, high = wilson_interval(success, claims)
    least, most = wilson_interval(baseline, n_baseline) if n_baseline else (baseline, baseline)
    advantage = success - baseline
    amounts = (each.gain_and_cost(each.prices) for each in study.each.values())
    payoff = max(float(np.mean(gain) * success - np.mean(cost)) for gain, cost in amounts)
    lower = advantage - np.hypot(success - low, most - baseline)
    upper = advantage + np.hypot(high - success, baseline - least)
    row = (name, int(claims), float(right), success, baseline, advantage, lower, upper, payoff, payoff > 0)
    return dict(zip(COLUMNS, row, strict=True))
