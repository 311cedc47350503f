"""Build the tables of a scenario of the kind ``risk``."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.assessment import Assessment, RiskName
from reidsim.adversaries.knowledge.expectation import Network
from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.kinds.assessment.release import Release
from reidsim.kinds.assessment.schema import RISK_NAMES, WORST_CASE, SettingsSection, ThresholdSection
from reidsim.kinds.assessment.study import RiskStudy
from reidsim.linkage.people import largest_in_groups
from reidsim.random_counts import draw_binomial
from reidsim.scenarios.people import HOUSEHOLD, PERSON

Floats = NDArray[np.float64]

# Risks of a person in any record, in the order of columns.
_OF_RELEASES = ("prosecutor", "journalist", "journalist_low", "journalist_high", "marketer")
_QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}


def record_table(study: RiskStudy, release: Release, found: Mapping[str, Assessment]) -> pd.DataFrame:
    """Return one row per record and adversary: the person's risks and released values.

    Returns
    -------
    DataFrame
        Columns: ``record`` (from 0, in the order of the release), ``records`` (number of records of the release),
        ``knowledge`` (the adversary), ``prosecutor``, ``journalist`` with ``journalist_low`` and ``journalist_high``
        (ends of its confidence interval), ``marketer``, ``overall``, the standard error of each of the four (0 if
        exact), and the attributes. With a key of people, there is also the number of the ``person``, and each risk is
        the largest among the person's records, equal in all of them. With households, there is also
        ``household_risk``, the largest overall risk in the person's household.
    """
    released, asked = _released(release), risk_arguments(study)
    parts = []
    for name, assessment in found.items():
        risks, overall = assessment.risks, assessment.risks.overall(study.network)
        rows = pd.DataFrame(
            {
                "record": np.arange(release.n_records),
                **({} if release.person is None else {PERSON: release.person}),
                "records": release.n_records,
                "knowledge": pd.Categorical([name] * release.n_records, categories=list(found)),
                **{name: release.by_person(getattr(risks, name)) for name in _OF_RELEASES},
                "overall": release.by_person(overall),
                **({} if release.household is None else {HOUSEHOLD: largest_in_groups(overall, release.household)}),
                **{f"{column}_standard_error": risks.standard_error(risk) for column, risk in asked.items()},
            }
        )
        parts.append(pd.concat([rows, released], axis=1))
    return pd.concat(parts, ignore_index=True)


def threshold_risks(
    study: RiskStudy,
    section: ThresholdSection,
    release: Release,
    found: Mapping[str, Assessment],
    people: NDArray[np.int64],
) -> pd.DataFrame:
    """Return the risk and group attributes of each person, by adversary.

    Parameters
    ----------
    study : RiskStudy
    section : ThresholdSection
    release : Release
    found : mapping of str to Assessment
        Risks of the release's records, by adversary.
    people : ndarray of int64, shape (n_records,)
        Number of people that each record represents.

    Returns
    -------
    DataFrame
        Columns: the released values of the attributes ``section.groups``, the risk ``section.risk`` under its name, and
        ``knowledge``, the adversary. A record is repeated for each of its `people`; all rows of an adversary come
        before those of the next.
    """
    groups, asked = _released(release)[list(section.groups)], risk_arguments(study)[section.risk]
    parts = []
    for name, assessment in found.items():
        risk = assessment.risks.overall(asked) if isinstance(asked, Network) else getattr(assessment.risks, asked)
        parts.append(
            groups.assign(**{section.risk: risk, "knowledge": name}).take(np.repeat(np.arange(len(people)), people))
        )
    return pd.concat(parts, ignore_index=True)


def risk_arguments(study: RiskStudy) -> dict[str, RiskName | Network]:
    """Return the argument that selects a risk in an `Assessment`, by name of the risk.

    The overall risk is selected by the adversary's capabilities, the others by their name.
    """
    return {"prosecutor": "prosecutor", "journalist": "journalist", "marketer": "marketer", "overall": study.network}


def _released(release: Release) -> pd.DataFrame:
    columns = {}
    for position, attribute in enumerate(release.domain.attributes):
        tree = release.trees.get(attribute.name)
        labels = attribute.labels if tree is None else pd.Index(list(tree.labels), dtype="str")
        columns[attribute.name] = pd.Categorical.from_codes(release.codes[:, position], categories=labels)
    return pd.DataFrame(columns)


def reduction(worst: Floats, risk: Floats) -> Floats:
    """Return the reduction of a risk from the worst case, in percent.

    It is missing where the worst-case risk is 0.
    """
    share = np.divide(risk, worst, out=np.full(len(risk), np.nan), where=worst > 0)
    return np.asarray(100 * (1 - share))


def quartiles(values: Floats) -> dict[str, float]:
    """Return the quartiles of the values as ``q1``, ``median`` and ``q3``.

    Missing values are ignored; without any values, the quartiles are missing.
    """
    present = values[~np.isnan(values)]
    found = np.quantile(present, list(_QUARTILES.values())).tolist() if len(present) else [np.nan] * len(_QUARTILES)
    return dict(zip(_QUARTILES, found, strict=True))


def reduction_table(records: pd.DataFrame) -> pd.DataFrame:
    """Return quartiles over persons of risk reductions (Xia et al. 2021, Table 3).

    Reductions are in percent of the worst-case risk.

    Parameters
    ----------
    records : DataFrame
        One row per person and adversary, with the worst case among the adversaries; see `record_table`.

    Returns
    -------
    DataFrame
        One row per adversary other than the worst case and risk: ``knowledge``, ``risk``, ``persons`` (number with a
        positive risk in the worst case, over which quartiles are taken), ``q1``, ``median`` and ``q3``.
    """
    by_adversary = {str(name): rows for name, rows in records.groupby("knowledge", sort=False, observed=True)}
    worst = by_adversary.pop(WORST_CASE)
    rows = []
    for name, table in by_adversary.items():
        for risk in RISK_NAMES:
            values = reduction(worst[risk].to_numpy(), table[risk].to_numpy())
            persons = int((~np.isnan(values)).sum())
            rows.append({"knowledge": name, "risk": risk, "persons": persons, **quartiles(values)})
    return pd.DataFrame(rows)


def settings_table(
    section: SettingsSection, release: Release, found: Mapping[str, Assessment], rng: np.random.Generator
) -> pd.DataFrame:
    """Return quartiles of risk reductions by capabilities (Xia et al. 2021, Table 4).

    The reduction of overall risk is computed for all combinations of capabilities. With ``trials``, the outcome of each
    person is simulated that many times, and the share of re-identifications replaces the risk, as in the published
    study: persons with a worst-case share of 0 are excluded.

    Returns
    -------
    DataFrame
        One row per combination and adversary, with the worst case among the adversaries: ``p_m``, ``p_c``, ``p_fm``,
        ``p_cu`` (capabilities, see `NetworkSection`), ``knowledge``; ``q1``, ``median``, ``q3`` over persons of the
        reduction in percent; and ``risk_q1``, ``risk_median``, ``risk_q3`` of the risk itself.
    """
    rows = []
    for p_m, p_c, p_fm, p_cu in product(section.p_m, section.p_c, section.p_fm, section.p_cu):
        network = Network(p_m=p_m, p_fm=p_fm, p_cu=p_cu, p_c=p_c)
        risks = {name: release.of_people(assessment.risks.overall(network)) for name, assessment in found.items()}
        if section.trials is not None:
            risks = {name: draw_binomial(rng, section.trials, risk) / section.trials for name, risk in risks.items()}
        for name, risk in risks.items():
            of_risk = {f"risk_{quartile}": value for quartile, value in quartiles(risk).items()}
            less = quartiles(reduction(risks[WORST_CASE], risk))
            rows.append({"p_m": p_m, "p_c": p_c, "p_fm": p_fm, "p_cu": p_cu, "knowledge": name, **less, **of_risk})
    return pd.DataFrame(rows)


def source_table(
    study: RiskStudy, release: Release, knowledge: Mapping[str, Knowledge], found: Mapping[str, Assessment]
) -> pd.DataFrame:
    """Return the sources of each adversary, and the payoff of an attack.

    Returns
    -------
    DataFrame
        One row per adversary and source: ``knowledge``, ``source``, ``price`` (in currency units), ``presence`` (mean
        probability that the source contains a person of the release). With the scenario's section ``attack``, also
        ``persons_attacked`` and ``payoff``, equal in all rows of an adversary: with all its sources together, the
        adversary attacks each person whose expected gain exceeds the cost, and pays once for the sources.
    """
    attack = study.scenario.attack
    rows = []
    for name, known in knowledge.items():
        pays: dict[str, float] = {}
        if attack is not None:
            net = attack.gain * release.of_people(found[name].risks.overall(study.network)) - attack.cost
            pays = {
                "persons_attacked": int((net > 0).sum()),
                "payoff": float(net[net > 0].sum()) - known.total_price,
            }
        for source in known.sources:
            presence = float(source.presence.mean())
            row = {"knowledge": name, "source": source.name, "price": source.total_price, "presence": presence}
            rows.append(row | pays)
    return pd.DataFrame(rows)


def set_table(found: Mapping[str, Assessment]) -> pd.DataFrame:
    """Return the sets of attributes that each adversary may know.

    Returns
    -------
    DataFrame
        One row per adversary and set: ``knowledge``, ``attributes`` (names separated by commas), ``probability`` (of
        knowing exactly this set, mean over persons), ``sample_uniques`` (number of records that are unique on the set;
        missing where uniqueness is not estimated), ``unique`` (probability that a sample unique on the set is a
        population unique), ``unique_low`` and ``unique_high`` (ends of its confidence interval). The last three are
        missing if the population is known.
    """
    rows = []
    for name, assessment in found.items():
        for number, (known, probability) in enumerate(zip(assessment.sets, assessment.probability, strict=True)):
            estimate = assessment.uniqueness[number]
            unique, low, high = assessment.chances[:, number]
            rows.append(
                {
                    "knowledge": name,
                    "attributes": ", ".join(known),
                    "probability": probability,
                    "sample_uniques": np.nan if estimate is None else estimate.sample_uniques,
                    "unique": unique,
                    "unique_low": low,
                    "unique_high": high,
                }
            )
    return pd.DataFrame(rows)


EVERYBODY = "everybody"


def cohort_table(section: ThresholdSection, records: pd.DataFrame) -> pd.DataFrame:
    """Return the risk of a cohort relative to the threshold, in total and by group.

    Parameters
    ----------
    section : ThresholdSection
    records : DataFrame
        One row per person and adversary: ``knowledge``, the risks and the attributes.

    Returns
    -------
    DataFrame
        One row per adversary and group of people: ``knowledge``, ``attribute`` (``everybody`` for the whole cohort, or
        an attribute of ``threshold.groups``), ``value`` (of the attribute), ``persons`` (number), ``percentile_risk``
        (the smallest risk that the share ``threshold.percentile`` of persons does not exceed), ``mean_risk``,
        ``share_above`` (share of persons whose risk exceeds the accepted risk), ``threshold`` (the accepted risk) and
        ``percentile``.
    """
    rows = []
    for knowledge, people in records.groupby("knowledge", sort=False, observed=True):
        groups = [(EVERYBODY, EVERYBODY, people[section.risk])]
        for name in section.groups:
            by_value = people.groupby(name, sort=False, observed=True)[section.risk]
            groups += [(name, str(value), risks) for value, risks in by_value]
        for attribute, value, risks in groups:
            rows.append(
                {
                    "knowledge": str(knowledge),
                    "attribute": attribute,
                    "value": value,
                    "persons": len(risks),
                    "percentile_risk": float(np.quantile(risks, section.percentile, method="inverted_cdf")),
                    "mean_risk": float(risks.mean()),
                    "share_above": float((risks > section.risk_accepted).mean()),
                    "threshold": section.risk_accepted,
                    "percentile": section.percentile,
                }
            )
    return pd.DataFrame(rows)
