"""A release as a transformer of scikit-learn, which this module needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import PRIVATE, InputError, naming_arguments, require_among, require_distinct
from reidsim.core.tables import library_of, native_table, pandas_table, read_table, text_table
from reidsim.drafts.draft import OF_PAPER
from reidsim.engine.scenario import Scenario
from reidsim.reports.python import new, share
from reidsim.reports.shared.file import released_values

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    problem = "reidsim.Anonymizer needs scikit-learn 1.6 or later (run pip install 'reidsim[sklearn]')"
    raise ImportError(problem, name=error.name) from None


class Anonymizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Release records by a policy, as a transformer of scikit-learn.

    `fit` plays the game on the records, checks the release as `share` does, and stores its rulebook. `transform`
    releases records by the rulebook, as `apply` does. For the records of `fit`, this is the release of the game. Every
    record keeps its row: all values of a record that is withheld, or that no rule covers, are missing (None in an
    array).

    The columns of the result are the quasi-identifiers, as text, and the columns in `keep`. Other columns are omitted.
    The order of rows can disclose values: to hand over a file, use `share` or `apply`, which sort the rows.

    Parameters
    ----------
    policy : str
        Name of a policy.
    hierarchies : mapping of str to object, or object, optional
        Hierarchy of each quasi-identifier as in `Scenario.from_frames`, or a hierarchy for all columns that are not
        kept, such as ``"suppress"``. If not given, quasi-identifiers and hierarchies are drafted as in `new`.
    quasi_identifiers : sequence of str
        Quasi-identifiers in addition to the inferred ones. Only without `hierarchies`.
    population : str or Path, optional
        Name or recipe of the population of the people. With `hierarchies`, also a table or `Population`.
    benefit, loss, gain, cost : float, optional
        Payoff parameters in currency units per record. The defaults are those of Wan et al. 2015 (Table 3); the gain
        equals the loss if not given.
    unit : {"table", "record"}
        Whether one strategy is chosen for the whole table, or one per record. Records with equal values may then be
        released differently, for example if the adversary searches in both directions; such a release has no rulebook,
        and `fit` refuses it.
    seed : int, optional
        Seed of all random draws; the scenario's if not given.
    overrides : mapping of str to object, optional
        Values by key path that replace the scenario's, such as ``{"adversary.direction": "both"}``.
    keep : sequence of str
        Columns to copy unchanged; they are not quasi-identifiers. Columns that identify most people are refused.
    unknown_to_outsiders : sequence of str
        Kept columns whose values no outsider can know.
    max_risk : float, optional
        Maximum probability of re-identification, as in `share`; one in eleven if not given.
    accept_risk : bool
        Whether to fit even if a risk is above the maximum.

    Attributes
    ----------
    rulebook_ : DataFrame
        The rules, one row per combination of true quasi-identifiers. Do not publish it, or a fitted anonymizer.
    sidecar_ : dict
        Description of the release of the records of `fit`, with its risk and audit.
    n_features_in_ : int
        Number of columns of the records of `fit`.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Names of these columns, if they have names; ``x0``, ``x1`` and so on are used otherwise.

    See Also
    --------
    share : write the records that a policy releases.
    new : draft a scenario from records.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55] * 20, "sex": ["F", "F", "M", "M"] * 20})
    >>> anonymizer = reidsim.Anonymizer("basic", hierarchies={"age": reidsim.intervals(5), "sex": "suppress"})
    >>> released = anonymizer.fit_transform(patients)
    >>> anonymizer.transform(pandas.DataFrame({"age": [34, 90], "sex": ["F", "F"]})).isna().all(axis=1).tolist()
    [False, True]
    """

    def __init__(
        self,
        policy: str = "no-attack",
        *,
        hierarchies: Any = None,
        quasi_identifiers: Sequence[str] = (),
        population: Any = None,
        benefit: float | None = OF_PAPER["benefit"],
        loss: float | None = OF_PAPER["loss"],
        gain: float | None = None,
        cost: float | None = OF_PAPER["cost"],
        unit: Literal["record", "table"] = "table",
        seed: int | None = None,
        overrides: Mapping[str, object] | None = None,
        keep: Sequence[str] = (),
        unknown_to_outsiders: Sequence[str] = (),
        max_risk: float | None = None,
        accept_risk: bool = False,
    ) -> None:
        self.policy = policy
        self.hierarchies = hierarchies
        self.quasi_identifiers = quasi_identifiers
        self.population = population
        self.benefit = benefit
        self.loss = loss
        self.gain = gain
        self.cost = cost
        self.unit = unit
        self.seed = seed
        self.overrides = overrides
        self.keep = keep
        self.unknown_to_outsiders = unknown_to_outsiders
        self.max_risk = max_risk
        self.accept_risk = accept_risk

    @naming_arguments
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Play the game on records, and store the rulebook of the release.

        Parameters
        ----------
        X : DataFrame, Table or array-like, shape (n_records, n_features)
            One row per record.
        y : None
            Ignored.

        Raises
        ------
        InputError
            If the records or a parameter cannot be used, the release exceeds a limit of `share`, or equal records have
            different releases, so that there is no rulebook.
        """
        frame = self._named(X, reset=True)
        require_among("no such column", self.keep, frame.columns, source="Anonymizer", where="keep")
        with TemporaryDirectory(prefix=PRIVATE) as place:
            rules = Path(place, "rules.csv")
            shared = share(
                self._scenario(frame).run(),
                keep=self.keep,
                unknown_to_outsiders=self.unknown_to_outsiders,
                max_risk=self.max_risk,
                accept_risk=self.accept_risk,
                rulebook=rules,
            )
            self.rulebook_ = read_table(rules, trim=False)
        self.sidecar_ = shared.attrs["sidecar"]
        self._released = np.flatnonzero(frame.columns.isin(shared.columns))
        return self

    @naming_arguments
    def transform(self, X: Any) -> Any:  # noqa: N803 - scikit-learn's name
        """Return records as released by the rulebook.

        Parameters
        ----------
        X : DataFrame, Table or array-like, shape (n_records, n_features)
            One row per record, with the columns of the records of `fit`.

        Returns
        -------
        DataFrame, Table or ndarray of object, shape (n_records, n_released)
            A table of the library of `X`, an array if `X` is not a table, or the container of `set_output`. Missing
            values in all columns of records that are withheld.
        """
        check_is_fitted(self)
        frame = self._named(X, reset=False)
        quasi = [column["name"] for column in self.sidecar_["columns"] if column["role"] == "quasi-identifier"]
        released, _ = released_values(self.rulebook_, quasi, text_table(frame, "Anonymizer: X"))
        table = frame.assign(**released.set_axis(frame.index)).iloc[:, self._released]
        is_shared = released.notna().all(axis=1).to_numpy()
        table = table.where(np.broadcast_to(is_shared[:, None], table.shape))
        table, library = table.set_axis(self.get_feature_names_out(), axis=1), library_of(X)
        if isinstance(X, pd.DataFrame) or library != "pandas":
            # Containers of scikit-learn do not accept every library.
            own = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
            return native_table(table, library if own == "default" else "pandas")
        return table.astype(object).where(table.notna(), None).to_numpy()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of the result.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of the records; must be those of `fit`, if they have names.
        """
        check_is_fitted(self)
        names: NDArray[np.object_] = super().get_feature_names_out(input_features)[self._released]
        return names

    def _named(self, X: Any, *, reset: bool) -> pd.DataFrame:  # noqa: N803 - scikit-learn's name
        """Return records as a table with the names that scikit-learn gives its columns, without surrounding spaces.

        With `reset`, the names are those of `X`; otherwise, they are those of `fit`, with which `X` is compared.
        """
        table = pandas_table(X)
        if isinstance(table, pd.DataFrame):
            require_distinct("column named twice", table.columns, source="Anonymizer: X")
            validate_data(self, table, reset=reset, skip_check_array=True)
        else:
            array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
            table = pd.DataFrame(array).infer_objects()
        # A scenario has names without spaces. With other names here, true values would be passed on.
        return table.set_axis(pd.Index(super().get_feature_names_out()).str.strip(), axis=1)

    def _scenario(self, frame: pd.DataFrame) -> Scenario:
        """Return the scenario of the records, with the policy as its only one."""
        amounts: dict[str, Any] = {"benefit": self.benefit, "loss": self.loss, "gain": self.gain, "cost": self.cost}
        quasi, hierarchies = self.quasi_identifiers, self.hierarchies
        if hierarchies is None:
            draft = new(frame, quasi_identifiers=quasi, drop=self.keep, population=self.population, **amounts)
            scenario = draft.scenario
        elif quasi:
            expected = "no argument besides hierarchies"
            raise InputError("given twice", where="quasi_identifiers", found=quasi, expected=expected)
        else:
            if not isinstance(hierarchies, Mapping):
                hierarchies = {name: hierarchies for name in frame.columns if name not in self.keep}
            scenario = Scenario.from_frames(frame, population=self.population, hierarchies=hierarchies, **amounts)
        changes: dict[str, Any] = {"publisher.policies": [self.policy], "publisher.unit": self.unit}
        changes |= {} if self.seed is None else {"seed": self.seed}
        return scenario.with_(changes | dict(self.overrides or {}))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags
