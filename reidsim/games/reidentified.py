"""How many people are re-identified under a choice: the distribution of their number, and payoffs that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reidsim.core.measures import columns_of
from reidsim.games.attempts import Case
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import ADVERSARY_CVAR, ANY_REIDENTIFIED, PUBLISHER_CVAR, REIDENTIFIED
from reidsim.linkage.poisson_binomial import Successes, mixture, successes
from reidsim.linkage.weighted_sums import Sums, mixture_of_sums
from reidsim.populations.population import Counts

# Share of the outcomes over which conditional values at risk are means.
WORST = 0.05
# Quantiles of the number of people re-identified, by column.
LEVELS = {"reidentified_median": 0.5, "reidentified_95": 0.95, "reidentified_99": 0.99}
# Probabilities below are rounding.
_NEGLIGIBLE = 1e-15


@dataclass(frozen=True, eq=False)
class Reidentified:
    """How many people are re-identified, and the payoffs of everybody together.

    Parameters
    ----------
    n : int
        How many people there are.
    people : Successes
        The distribution of the number who are re-identified.
    publisher, adversary : Sums or None
        Distributions of payoffs over all people, in currency units; None where nothing tells what is at stake.
    lost : float or None
        What the publisher's payoff is expected to lose by re-identification, over all people; None as above.
    """

    n: int
    people: Successes
    publisher: Sums | None
    adversary: Sums | None
    lost: float | None = None

    def measures(self) -> dict[str, float]:
        """Return the measures by column; with a standard error, ``..._standard_error``, where payoffs are drawn."""
        found = {ANY_REIDENTIFIED.column: self.people.any}
        found |= {column: float(self.people.quantile(level)) for column, level in LEVELS.items()}
        for measure, payoff in ((PUBLISHER_CVAR, self.publisher), (ADVERSARY_CVAR, self.adversary)):
            found[measure.column] = np.nan if payoff is None else payoff.mean_of_lowest(WORST) / self.n
            if payoff is not None and payoff.drawn:
                found[f"{measure.column}_standard_error"] = payoff.standard_error(WORST) / self.n
        return found


def reidentified(n: int, cases: Iterable[Case], rng: Callable[[], np.random.Generator]) -> Reidentified:
    """Return how many people are re-identified, given what happens in each case of who comes.

    Parameters
    ----------
    n : int
        How many people there are.
    cases : iterable of Case
        They exclude each other, and one of them happens.
    rng : callable
        Returns the generator, where payoffs have to be drawn as amounts differ by record.
    """
    weights: list[float] = []
    parts: list[Reidentified] = []
    for case in cases:
        people = successes(case.people.chance, case.people.numbers)
        lost = case.people.payoffs(rng, people)
        adversary = None
        if case.hits is not None:
            alone = people if case.hits.is_alike(case.people) else None
            # Costs of attempts that are made for certain are constant, as are purchases.
            adversary = case.hits.payoffs(rng, alone).shifted(case.earned - case.hits.expected)
        weights.append(case.probability)
        parts.append(Reidentified(n, people, lost.shifted(case.kept, -1.0), adversary, case.people.expected))
    return mixed(weights, parts)


def mixed(weights: Sequence[float], parts: Sequence[Reidentified]) -> Reidentified:
    """Return the mixture of several, such as of rounds or draws, with probabilities that sum to 1."""
    if len(parts) == 1:
        return parts[0]
    publisher = [part.publisher for part in parts if part.publisher is not None]
    adversary = [part.adversary for part in parts if part.adversary is not None]
    lost = [weight * part.lost for weight, part in zip(weights, parts, strict=True) if part.lost is not None]
    return Reidentified(
        parts[0].n,
        mixture(weights, [part.people for part in parts]),
        mixture_of_sums(weights, publisher) if len(publisher) == len(parts) else None,
        mixture_of_sums(weights, adversary) if len(adversary) == len(parts) else None,
        sum(lost) if len(lost) == len(parts) else None,
    )


def evenly_mixed(parts: Sequence[Reidentified]) -> Reidentified:
    """Return the mixture of several that are equally likely."""
    return mixed([1.0 / len(parts)] * len(parts), parts)


def reidentified_in(equilibrium: Equilibrium, weights: Counts, rng: Callable[[], np.random.Generator]) -> Reidentified:
    """Return how many people are re-identified under a choice, `weights` (n_rows,) on each row.

    Where the equilibrium does not tell what is attempted, each person is attempted once, and payoffs are not told.
    """
    attempts, n = equilibrium.attempts, int(weights.sum())
    if attempts is None:
        return Reidentified(n, successes(equilibrium.risk, weights), None, None)
    kept = float(((equilibrium.publisher_payoff + attempts.loss * equilibrium.risk) * weights).sum())
    return reidentified(n, attempts.cases(weights, kept), rng)


def measures_table(found: dict[str, Reidentified]) -> pd.DataFrame:
    """Return the measures by policy."""
    rows = [each.measures() for each in found.values()]
    columns = list(dict.fromkeys([*columns_of(REIDENTIFIED), *(column for row in rows for column in row)]))
    return pd.DataFrame(rows, index=pd.Index(list(found), name="policy"), columns=columns)


def distribution_table(found: dict[str, Reidentified]) -> pd.DataFrame:
    """Return the distribution of the number of people re-identified.

    Returns
    -------
    DataFrame
        One row per policy and number whose probability is above 1e-15: ``policy``, ``people``, ``probability`` and
        ``at_most``, the probability that no more are re-identified.
    """
    parts = []
    for policy, each in found.items():
        people = each.people
        kept = people.masses > _NEGLIGIBLE
        columns = {"people": people.numbers, "probability": people.masses, "at_most": people.at_most}
        parts.append(pd.DataFrame({"policy": policy, **{name: values[kept] for name, values in columns.items()}}))
    table = pd.concat(parts, ignore_index=True)
    return table.astype({"policy": "category"})
