"""Measure data utility: compare statistics of a release with statistics of the original records.

Every released cell counts as the average over the original values that it covers, all equally likely. An empty cell is
missing, and so is a cell that covers all values of its column. A statistic omits records with a missing cell.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import chain, combinations
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import model_validator

from reidsim.audit.release import ColumnReader, is_all_numbers
from reidsim.core.errors import InputError, refuse_first
from reidsim.core.numerics import random_stream, wilson_interval
from reidsim.core.tables import coded, text_column
from reidsim.core.validation import Section
from reidsim.populations.population import natural_categories
from reidsim.scenarios.schema import Text, distinct

Floats = NDArray[np.float64]
# Value and 95% interval of a statistic; NaN if missing.
Estimate = tuple[float, float, float]

_FACTOR = re.compile(r"\s*(?:C\(\s*([^()~+:*]*[^()~+:*\s])\s*\)|([^()~+:*]*[^()~+:*\s]))\s*")
_MISSING = ("", "NA")
# Columns of a regression have one coefficient per value; beyond this number, tables no longer fit into memory.
_MOST_VALUES = 1_000
# Share of the records on which classifiers are tested.
_HELD_OUT = 0.3
# Singular values below this fraction of the largest count as zero.
_RANK_TOLERANCE = 1e-10
_ENDS = ("", "_lower", "_upper")
_COLUMNS = ["measure", "column", *(f"{source}{end}" for source in ("original", "released") for end in _ENDS)]
_NONE: Estimate = (np.nan, np.nan, np.nan)
_PACKAGES = {"regression": "statsmodels", "classifier": "sklearn"}


class Factor(NamedTuple):
    """A column in a formula, and whether the formula treats it as categorical with ``C()``."""

    column: str
    is_category: bool = False


class Formula(NamedTuple):
    """A regression formula: the outcome, and terms, which are products of factors, main effects first."""

    outcome: Factor
    terms: tuple[tuple[Factor, ...], ...]

    @classmethod
    def read(cls, text: str) -> Formula:
        """Return a formula given as text. Nothing in the text is evaluated.

        Raises
        ------
        InputError
            If the text is not a formula of column names, ``+``, ``:``, ``*`` and ``C()``, or has an interaction of
            factors that are not terms themselves.
        """
        expected = "a formula of column names, +, :, * and C(), such as income ~ age * C(region)"

        def factor(name: str) -> Factor:
            found = _FACTOR.fullmatch(name)
            if found is None:
                raise InputError("the formula cannot be read", where="regression", found=text, expected=expected)
            return Factor(found[1] or found[2], found[1] is not None)

        left, _, right = text.partition("~")
        outcome, terms = factor(left), dict[frozenset[Factor], tuple[Factor, ...]]()
        for crossed in right.split("+"):
            parts = [tuple(map(factor, part.split(":"))) for part in crossed.split("*")]
            for chosen in chain(*(combinations(parts, size) for size in range(1, len(parts) + 1))):
                term = tuple(dict.fromkeys(chain(*chosen)))
                terms.setdefault(frozenset(term), term)
        alone = any(term - {each} not in terms for term in terms if len(term) > 1 for each in term)
        is_term = any(each.column == outcome.column for each in chain(*terms.values()))
        refuse_first(
            (outcome.is_category, "the outcome is in C()", "regression", text, expected),
            (is_term, "the outcome is also a term", "regression", text, expected),
            (alone, "an interaction without its main effects", "regression", text, "a * b, which is a + b + a:b"),
        )
        return cls(outcome, tuple(sorted(terms.values(), key=len)))


class UtilitySection(Section):
    """Statistics for which each release is compared with the original records.

    Attributes
    ----------
    columns
        columns whose means, variances and correlations are compared; default: all quasi-identifiers, sensitive columns,
        and columns of the regression and the classifier
    categories
        columns of numbers that are codes, such as ZIP codes, and count as categorical
    regression
        formula of a regression, such as `income ~ age * sex`, from column names, `+`, `:`, `*` and `C()`; linear for
        a numeric outcome, logistic for an outcome with two values
    classifier
        column that a classifier predicts from the other columns
    """

    columns: Annotated[tuple[Text, ...], distinct("column given twice")] = ()
    categories: tuple[Text, ...] = ()
    regression: Text | None = None
    classifier: Text | None = None

    @model_validator(mode="after")
    def _consistent(self) -> UtilitySection:
        if self.regression is not None:
            Formula.read(self.regression)
        return self

    @property
    def formula(self) -> Formula | None:
        """The formula of the regression, if there is one."""
        return None if self.regression is None else Formula.read(self.regression)

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """Names of the columns in each key."""
        factors = () if self.formula is None else (self.formula.outcome, *chain(*self.formula.terms))
        predicted = () if self.classifier is None else (self.classifier,)
        regressed = tuple(each.column for each in factors)
        return {**vars(self), "regression": regressed, "classifier": predicted}


class _Cells(NamedTuple):
    """Numbers of a column's cells: the row of each cell, and the distinct rows, which are NaN for missing cells.

    A row of a numeric column is a number. A row of a categorical column is the share of each original value.
    """

    codes: NDArray[np.signedinteger[Any]]
    rows: Floats

    @property
    def all(self) -> Floats:
        """The row of each cell, shape (n_cells, width)."""
        return np.asarray(self.rows[self.codes])

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each distinct row has its values, shape (n_rows,)."""
        return np.asarray(~np.isnan(self.rows).any(axis=1))


class _Column:
    """Conversion of the cells of a column to numbers."""

    def __init__(self, name: str, cells: pd.Series[Any], hierarchy: Sequence[Sequence[str]], *, categorical: bool):
        texts = text_column(cells)
        self.values = natural_categories(texts[~texts.isin(_MISSING)])
        self.reader = ColumnReader(self.values, hierarchy)
        self.is_numeric = not categorical and is_all_numbers(self.values)
        many = not self.is_numeric and len(self.values) > _MOST_VALUES
        found, expected = f"{len(self.values):,} values", f"at most {_MOST_VALUES:,}, or other utility.columns"
        refuse_first((many, f"categorical column {name!r} has too many values", "utility", found, expected))

    def read(self, cells: pd.Series[Any]) -> _Cells:
        codes, texts = coded(cells)
        width = 1 if self.is_numeric else len(self.values)
        return _Cells(codes, np.array([self._row(text) for text in texts], dtype=np.float64).reshape(-1, width))

    def _row(self, text: str) -> Floats:
        if self.is_numeric:
            return np.array([self.reader.middle(text)])
        row, fitting = np.zeros(len(self.values)), self.reader.fitting(text)
        if text in _MISSING or not len(fitting) or (len(fitting) == len(row) and text not in self.values):
            return np.full(len(row), np.nan)
        row[fitting] = 1 / len(fitting)
        return row


class DataUtility:
    """Statistics of the original records, with which releases are compared.

    Parameters
    ----------
    original : DataFrame
        Original records, as text, with all columns that the section names. Without its key ``columns``, all columns
        are compared.
    section : UtilitySection
    hierarchies : mapping of str to sequence of sequence of str, optional
        Rows of the hierarchy of a column: a value, then its labels.
    seed : int
        Root seed of the scenario, from which the held-out records are drawn.

    Raises
    ------
    InputError
        If a package is missing, a categorical column has more than 1,000 values, or the outcome of the regression is
        neither numeric nor has two values.
    """

    def __init__(
        self,
        original: pd.DataFrame,
        section: UtilitySection,
        hierarchies: Mapping[str, Sequence[Sequence[str]]] | None = None,
        seed: int = 0,
    ) -> None:
        for key in (key for key in _PACKAGES if getattr(section, key) is not None):
            if find_spec(_PACKAGES[key]) is None:
                hint = "run pip install 'reidsim[utility]'"
                raise InputError(f"package {_PACKAGES[key]} is not installed", where=f"utility.{key}", hint=hint)
        self.original, self._formula = original, section.formula
        self._compared = [Factor(name) for name in section.columns or map(str, original)]
        self._class = None if section.classifier is None else Factor(section.classifier, True)
        self._features = [Factor(str(name)) for name in original if name != section.classifier]
        in_terms = () if self._formula is None else chain(*self._formula.terms)
        self._columns = {
            factor: _Column(
                factor.column,
                original[factor.column],
                (hierarchies or {}).get(factor.column, ()),
                categorical=factor.is_category or factor.column in section.categories,
            )
            for factor in (*map(Factor, map(str, original)), *in_terms, *filter(None, [self._class]))
        }
        if self._formula is not None:
            outcome = self._columns[self._formula.outcome]
            found, expected = f"{len(outcome.values)} values", "a numeric outcome, or one with two values"
            wrong = not outcome.is_numeric and len(outcome.values) != 2
            refuse_first((wrong, "the outcome cannot be regressed", "utility.regression", found, expected))
        order = random_stream(seed, "data-utility").permutation(len(original))
        self._held_out = original.index[np.sort(order[: round(_HELD_OUT * len(original))])]
        self._test, self._found = self._read(original.loc[self._held_out]), dict[bytes, pd.DataFrame]()
        self._of_original = self._estimates(original)

    def compare(self, released: pd.DataFrame) -> pd.DataFrame:
        """Return each statistic of the original and of the released records, and its change.

        Parameters
        ----------
        released : DataFrame
            Released cells, as text, with the columns of the original records; other columns are ignored. The index of
            a row is that of its original record, or a label that no original record has. Withheld records have no row.

        Returns
        -------
        DataFrame
            One row per statistic: ``measure``, ``column`` (column, columns or coefficient), ``original`` and
            ``released`` (values; the ends of 95% intervals are in ``original_lower``, ``original_upper``,
            ``released_lower`` and ``released_upper``), ``change`` (relative for means and variances, otherwise the
            difference) and ``overlap`` (of the intervals of a coefficient). A statistic that the release does not
            determine is missing.
        """
        released = released[list(self.original)]
        key = pd.util.hash_pandas_object(released).to_numpy().tobytes()
        if key not in self._found:
            after = self._estimates(released)
            rows = [(*name, *before, *after[name]) for name, before in self._of_original.items()]
            table = pd.DataFrame(rows, columns=_COLUMNS)
            scale = table["original"].abs().replace(0.0, np.nan).where(table["measure"].isin(["mean", "variance"]), 1.0)
            table["change"] = (table["released"] - table["original"]) / scale
            table["overlap"] = _overlap(table)
            self._found[key] = table
        return self._found[key]

    def _read(self, records: pd.DataFrame) -> dict[Factor, _Cells]:
        return {factor: column.read(records[factor.column]) for factor, column in self._columns.items()}

    def _estimates(self, records: pd.DataFrame) -> dict[tuple[str, str], Estimate]:
        """Return the statistics of some records, by measure and column."""
        cells, found = self._read(records), dict[tuple[str, str], Estimate]()
        for factor in (each for each in self._compared if self._columns[each].is_numeric):
            values = pd.Series(cells[factor].all[:, 0])
            found["mean", factor.column] = (values.mean(), np.nan, np.nan)
            found["variance", factor.column] = (values.var(), np.nan, np.nan)
        for pair in combinations(self._compared, 2):
            first, second = sorted(pair, key=lambda each: self._columns[each].is_numeric)
            measure, associate = _CORRELATIONS[sum(self._columns[each].is_numeric for each in pair)]
            value = associate(cells[first], cells[second])
            found[measure, ", ".join(each.column for each in pair)] = (value, np.nan, np.nan)
        if self._formula is not None:
            names, design = self._design(self._formula, cells)
            is_logistic = not self._columns[self._formula.outcome].is_numeric
            fitted = fit(cells[self._formula.outcome].all[:, -1], design, logistic=is_logistic)
            found |= {("coefficient", name): (*row,) for name, row in zip(names, fitted.tolist(), strict=True)}
        if self._class is not None:
            trained = ~records.index.isin(self._held_out)
            for measure, estimate in self._accuracy(cells, trained, self._class).items():
                found[measure, self._class.column] = estimate
        return found

    def _design(self, formula: Formula, cells: Mapping[Factor, _Cells]) -> tuple[list[str], Floats]:
        """Return names and values of the columns of a regression; the first value of a category is the reference."""
        n = len(cells[formula.outcome].codes)
        names, parts = ["Intercept"], [np.ones((n, 1))]
        for term in formula.terms:
            labels, product = [""], np.ones((n, 1))
            for factor in term:
                column, name = self._columns[factor], f"C({factor.column})" if factor.is_category else factor.column
                own = [name] if column.is_numeric else [f"{name}[T.{value}]" for value in column.values[1:]]
                labels = [f"{before}:{label}".lstrip(":") for before in labels for label in own]
                values = cells[factor].all[:, 0 if column.is_numeric else 1 :]
                product = (product[:, :, None] * values[:, None, :]).reshape(n, len(labels))
            names, parts = names + labels, [*parts, product]
        return names, np.hstack(parts)

    def _accuracy(
        self, cells: Mapping[Factor, _Cells], trained: NDArray[np.bool_], target: Factor
    ) -> dict[str, Estimate]:
        """Return the accuracy of a classifier, and that of the majority class, on the held-out records.

        The classifier is a logistic regression with a ridge penalty, on standardized columns.
        """
        # Imported here because these packages are slow to import and not needed elsewhere.
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        # A record trains or tests only if its class is certain.
        labels, tests = (np.nan_to_num(each[target].all) for each in (cells, self._test))
        rows, held = trained & (labels.max(axis=1, initial=0) == 1), tests.max(axis=1, initial=0) == 1
        known, truth = labels[rows].argmax(axis=1), tests[held].argmax(axis=1)
        if not len(known) or not len(truth):
            return {"accuracy": _NONE, "majority": _NONE}
        majority = np.full(len(truth), np.bincount(known).argmax())
        guesses = {"accuracy": majority, "majority": majority}
        if np.ptp(known) and self._features:
            train, test = (np.hstack([each[factor].all for factor in self._features]) for each in (cells, self._test))
            classifier = LogisticRegression(max_iter=1000)
            model = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), classifier)
            guesses["accuracy"] = model.fit(train[rows], known).predict(test[held])
        right = {name: float((guess == truth).mean()) for name, guess in guesses.items()}
        return {name: (share, *wilson_interval(share, len(truth))) for name, share in right.items()}


def by_policy(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the statistics of several releases, with the policy of each in the first column."""
    return pd.concat(tables, names=["policy"]).reset_index("policy").reset_index(drop=True)


def measures_of(table: pd.DataFrame) -> dict[str, float]:
    """Return means over the statistics of a release, given as by `DataUtility.compare`, by measure.

    The measures are ``mean_change`` and ``variance_change`` (of relative changes without sign), ``correlation_change``
    (of differences without sign), ``interval_overlap`` and ``classifier_accuracy``, if the table has the statistics. A
    statistic that the release does not determine counts as 0.
    """
    table, correlations = table[table["original"].notna()], [name for name, _ in _CORRELATIONS]
    lost = np.where(table["measure"].isin(correlations), table["original"].abs(), 1.0)
    changes = table["change"].abs().where(table["released"].notna(), lost)
    values = {
        "mean_change": changes[table["measure"] == "mean"],
        "variance_change": changes[table["measure"] == "variance"],
        "correlation_change": changes[table["measure"].isin(correlations)],
        "interval_overlap": table["overlap"][table["measure"] == "coefficient"],
        "classifier_accuracy": table["released"][table["measure"] == "accuracy"],
    }
    return {name: float(each.mean()) for name, each in values.items() if len(each)}


def cramers_v(first: _Cells, second: _Cells) -> float:
    """Return Cramér's V of two categorical columns; NaN if one is constant."""
    shape = len(first.rows), len(second.rows)
    pairs = first.codes.astype(np.int64) * shape[1] + second.codes
    counts = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape) * np.outer(first.known, second.known)
    table = np.nan_to_num(first.rows).T @ counts @ np.nan_to_num(second.rows)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return np.nan
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / (min(table.shape) - 1)))


def correlation_ratio(categories: _Cells, numbers: _Cells) -> float:
    """Return the root of the share of a column's variance that is between categories; NaN if one is constant."""
    kept = categories.known[categories.codes] & numbers.known[numbers.codes]
    values, codes, rows = numbers.all[kept, 0], categories.codes[kept], np.nan_to_num(categories.rows)
    people = np.bincount(codes, minlength=len(rows)) @ rows
    if (people > 0).sum() < 2 or not np.ptp(values):
        return np.nan
    deviations = values - values.mean()
    sums = np.bincount(codes, deviations, minlength=len(rows)) @ rows
    return float(np.sqrt((sums**2 / np.where(people > 0, people, 1)).sum() / (deviations**2).sum()))


def pearson(first: _Cells, second: _Cells) -> float:
    """Return Pearson's correlation of two numeric columns; NaN if one is constant."""
    kept = first.known[first.codes] & second.known[second.codes]
    both = np.hstack([first.all, second.all])[kept]
    if not len(both) or not np.ptp(both, axis=0).all():
        return np.nan
    return float(np.corrcoef(both.T)[0, 1])


# By the number of numeric columns among the two.
_CORRELATIONS = (("cramers_v", cramers_v), ("correlation_ratio", correlation_ratio), ("pearson", pearson))


def fit(outcome: Floats, design: Floats, *, logistic: bool) -> Floats:
    """Return coefficients of a regression with their 95% intervals, shape (n_columns, 3).

    First, columns without any value are left out; then, records with a missing value. A coefficient that the records do
    not determine is NaN.

    Parameters
    ----------
    outcome : ndarray of float64, shape (n,)
        Numbers; for a logistic regression, probabilities of the second value.
    design : ndarray of float64, shape (n, n_columns)
    logistic : bool
        Whether the regression is logistic; otherwise it is linear.
    """
    import statsmodels.api as sm

    design = np.where(np.isnan(design).all(axis=0), 0.0, design)
    kept = ~np.isnan(outcome) & ~np.isnan(design).any(axis=1)
    outcome, design = outcome[kept], design[kept]
    lengths, fitted = np.linalg.norm(design, axis=0), np.full((design.shape[1], 3), np.nan)
    lengths[lengths == 0] = 1.0
    _, sizes, directions = np.linalg.svd(design / lengths, full_matrices=False)
    directions = directions[sizes > _RANK_TOLERANCE * sizes.max(initial=0)]
    if len(outcome) <= len(directions) or (logistic and not np.ptp(outcome)):
        return fitted
    # A coefficient is determined if its unit vector is a combination of the records.
    determined = (directions**2).sum(axis=0) > 1 - _RANK_TOLERANCE
    # With collinear columns, fit the independent directions and transform back.
    basis = np.eye(len(lengths)) if determined.all() else (directions / lengths).T
    model = sm.GLM(outcome, design @ basis, sm.families.Binomial()) if logistic else sm.OLS(outcome, design @ basis)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Categories with only one outcome have infinite coefficients; their intervals are as wide.
        warnings.simplefilter("ignore")
        test = model.fit().t_test(basis)
        fitted[determined] = np.column_stack([test.effect, test.conf_int()])[determined]
    return fitted


def _overlap(table: pd.DataFrame) -> Floats:
    """Return the mean share of both intervals that they have in common (Karr et al. 2006); 0 if disjoint or missing."""
    ends = [f"{source}{end}" for source in ("original", "released") for end in _ENDS[1:]]
    low, high, own_low, own_high = table[ends].to_numpy(dtype=np.float64).T
    with np.errstate(all="ignore"):
        common = np.minimum(high, own_high) - np.maximum(low, own_low)
        share = np.nan_to_num(np.maximum((common / (high - low) + common / (own_high - own_low)) / 2, 0.0))
    # Equal intervals of length 0, of an exact fit, are all in common.
    share[(low == own_low) & (high == own_high)] = 1.0
    return np.where((table["measure"] == "coefficient") & ~np.isnan(low), share, np.nan)
