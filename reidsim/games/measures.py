"""Measures of an outcome: means over records, and people re-identified.

Labels, formats and definitions are in the TOML file beside this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.files import read_toml
from reidsim.core.wording import columns_of, measures_worded
from reidsim.games.record_game import Case, Equilibrium
from reidsim.linkage.totals import Distribution, mixture, successes
from reidsim.populations.population import Counts

Weights = NDArray[np.int64]


def _mean(attribute: str, outcome: Equilibrium, weights: Weights) -> float:
    return float(np.average(getattr(outcome, attribute), weights=weights))


def _share(intensity: float, outcome: Equilibrium, weights: Weights) -> float:
    return float(np.average(outcome.generalization_intensity == intensity, weights=weights))


def _risk_if_attacked(outcome: Equilibrium, weights: Weights) -> float:
    attacks = weights * outcome.attack_probability
    return float(np.average(outcome.success_probability, weights=attacks)) if attacks.sum() > 0 else np.nan


# Other averages are means of the outcome's attribute of the same name.
_COMPUTED: dict[str, Callable[[Any, Weights], float]] = {
    "share_attacked": partial(_mean, "attack_probability"),
    "risk_if_attacked": _risk_if_attacked,
    "share_unchanged": partial(_share, 0.0),
    "share_suppressed": partial(_share, 1.0),
}
_WORDED = {part: measures_worded(words) for part, words in read_toml(Path(__file__).with_suffix(".toml")).items()}
MEASURES = tuple(
    replace(measure, compute=_COMPUTED.get(column, partial(_mean, column)))
    for column, measure in _WORDED["averages"].items()
)
PUBLISHER_PAYOFF, ADVERSARY_PAYOFF, UTILITY, GENERALIZATION_INTENSITY, SHARE_ATTACKED, RISK, *_ = MEASURES
REIDENTIFIED = tuple(_WORDED["reidentified"].values())
ANY_REIDENTIFIED, *_, PUBLISHER_CVAR, ADVERSARY_CVAR = REIDENTIFIED
RISK_QUANTILE, HOUSEHOLD_RISK, REGRET = _WORDED["some"].values()
SUCCESS_PROBABILITY, RECORD_RISK = _WORDED["record"].values()


def averages(outcome: Equilibrium, weights: Weights) -> dict[str, float]:
    """Return each measure of `MEASURES` for an outcome, by column name.

    Values are averages over records, one number per measure. Payoffs are in currency units per record.
    ``risk_if_attacked`` is missing (NaN) if no record is attacked.

    Parameters
    ----------
    outcome : Equilibrium
        Arrays of shape (n_rows,); a row represents one or several equal records.
    weights : ndarray of int64, shape (n_rows,)
        Number of records of each row.

    Returns
    -------
    dict of str to float
    """
    return {measure.column: measure.compute(outcome, weights) for measure in MEASURES if measure.compute}


# Conditional value at risk is the mean payoff over this share of outcomes, the worst ones.
WORST = 0.05
# Quantiles of the number of people re-identified, by column.
LEVELS = {"reidentified_median": 0.5, "reidentified_95": 0.95, "reidentified_99": 0.99}
# Probabilities below this are rounding error.
_NEGLIGIBLE = 1e-15


@dataclass(frozen=True, eq=False)
class Reidentified:
    """Distributions of the number of people re-identified and of total payoffs.

    Payoffs are random because attempts succeed or fail, and because the set of adversaries may be random.

    Parameters
    ----------
    n : int
        Number of people.
    people : Distribution
        Distribution of the number of people re-identified.
    publisher, adversary : Distribution or None
        Distributions of total payoffs over all people, in currency units; None if the amounts at stake are unknown.
    lost : float or None
        The publisher's expected total loss from re-identification, in currency units; None if unknown.
    """

    n: int
    people: Distribution
    publisher: Distribution | None
    adversary: Distribution | None
    lost: float | None = None

    def measures(self) -> dict[str, float]:
        """Return the measures of re-identified people and of payoffs, by column.

        They are the probability that any person is re-identified, quantiles of the number of people re-identified
        (`LEVELS`), and the conditional value at risk of the publisher's and the adversary's payoffs (mean over the 5%
        lowest payoffs), in currency units per person; missing (NaN) if the amounts are unknown. If payoffs are
        simulated, columns ``..._standard_error`` are added.
        """
        found = {ANY_REIDENTIFIED.column: self.people.any}
        found |= {column: self.people.quantile(level) for column, level in LEVELS.items()}
        for measure, payoff in ((PUBLISHER_CVAR, self.publisher), (ADVERSARY_CVAR, self.adversary)):
            found[measure.column] = np.nan if payoff is None else payoff.mean_of_lowest(WORST) / self.n
            if payoff is not None and payoff.drawn:
                found[f"{measure.column}_standard_error"] = payoff.standard_error(WORST) / self.n
        return found


def reidentified(n: int, cases: Iterable[Case], rng: Callable[[], np.random.Generator]) -> Reidentified:
    """Return the distributions, given one case per possible set of adversaries.

    They are the distributions of the number of people re-identified and of total payoffs. The adversary's distribution
    is None if any case lacks its attempts (`hits`).

    Parameters
    ----------
    n : int
        Number of people.
    cases : iterable of Case
        Mutually exclusive cases whose probabilities sum to 1.
    rng : callable
        Returns the random generator. It is called only if payoffs must be simulated, see `Tries.payoffs`.
    """
    weights: list[float] = []
    parts: list[Reidentified] = []
    for case in cases:
        people = successes(case.people.chance, case.people.numbers)
        lost = case.people.payoffs(rng, people)
        adversary = None
        if case.hits is not None:
            # Costs of purchases and of attempts made with certainty are constant, so they shift the distribution.
            adversary = case.hits.payoffs(rng).shifted(case.earned - case.hits.expected)
        weights.append(case.probability)
        parts.append(Reidentified(n, people, lost.shifted(case.kept, -1.0), adversary, case.people.expected))
    return mixed(parts, weights)


def mixed(parts: Sequence[Reidentified], weights: Sequence[float] | None = None) -> Reidentified:
    """Return the mixture of the distributions of several parts.

    The parts are about the same people, for example in rounds of a game or random draws of its inputs. An amount that
    is unknown in one part is unknown (None) in the mixture. A single part is returned unchanged.

    Parameters
    ----------
    parts : sequence of Reidentified
        One part or more.
    weights : sequence of float, optional
        Probability of each part; the sum is 1. Equal probabilities, if not given.
    """
    if len(parts) == 1:
        return parts[0]
    weights = [1.0 / len(parts)] * len(parts) if weights is None else weights
    publisher = [part.publisher for part in parts if part.publisher is not None]
    adversary = [part.adversary for part in parts if part.adversary is not None]
    lost = [weight * part.lost for weight, part in zip(weights, parts, strict=True) if part.lost is not None]
    return Reidentified(
        parts[0].n,
        mixture(weights, [part.people for part in parts]),
        mixture(weights, publisher) if len(publisher) == len(parts) else None,
        mixture(weights, adversary) if len(adversary) == len(parts) else None,
        sum(lost) if len(lost) == len(parts) else None,
    )


def reidentified_in(equilibrium: Equilibrium, weights: Counts, rng: Callable[[], np.random.Generator]) -> Reidentified:
    """Return the distributions of people re-identified and payoffs in an equilibrium.

    `weights`, ndarray of int64, shape (n_rows,), is the number of people of each row of the equilibrium; `rng` returns
    the random generator, see `reidentified`. Without `attempts` in the equilibrium, people are taken to be
    re-identified independently, and payoffs and loss are None.
    """
    attempts, n = equilibrium.attempts, int(weights.sum())
    if attempts is None:
        return Reidentified(n, successes(equilibrium.risk, weights), None, None)
    kept = float(((equilibrium.publisher_payoff + attempts.loss * equilibrium.risk) * weights).sum())
    return reidentified(n, attempts.cases(weights, kept), rng)


def measures_table(found: dict[str, Reidentified]) -> pd.DataFrame:
    """Return `Reidentified.measures` of several policies as a DataFrame.

    `found` holds the distributions by name of the policy. There is one row per policy, in the order of `found`, and one
    column per measure; standard errors that a policy does not have are missing (NaN).
    """
    rows = [each.measures() for each in found.values()]
    columns = list(dict.fromkeys([*columns_of(REIDENTIFIED), *(column for row in rows for column in row)]))
    return pd.DataFrame(rows, index=pd.Index(list(found), name="policy"), columns=columns)


def distribution_table(found: dict[str, Reidentified]) -> pd.DataFrame:
    """Return the distribution of the number of people re-identified, by policy.

    Parameters
    ----------
    found : dict of str to Reidentified
        Distributions by name of the policy; one policy or more.

    Returns
    -------
    DataFrame
        One row per policy and number of people whose probability is above 1e-15. Columns: ``policy``, ``people``,
        ``probability``, and ``at_most``, the probability that at most this number is re-identified.
    """
    parts = []
    for policy, each in found.items():
        people = each.people
        kept = people.masses > _NEGLIGIBLE
        columns = {"people": people.values, "probability": people.masses, "at_most": people.at_most}
        parts.append(pd.DataFrame({"policy": policy, **{name: values[kept] for name, values in columns.items()}}))
    table = pd.concat(parts, ignore_index=True)
    return table.astype({"policy": "category"})
