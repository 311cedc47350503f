"""Define the kind of scenario that assesses a release; it has no decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.assessment import Assessment, Network, RiskName, assess
from reidsim.adversaries.knowledge.groups import Knowledge, count_sets
from reidsim.core.errors import locating, refuse_first
from reidsim.core.files import read_toml
from reidsim.core.numerics import draw_binomial, draw_multivariate_hypergeometric
from reidsim.core.wording import columns_of, counted, in_words, measures_worded
from reidsim.games.outcomes import HOUSEHOLD_RISK
from reidsim.kinds.assessment.study import (
    RISK_NAMES,
    WORST_CASE,
    Release,
    RiskScenario,
    RiskStudy,
    SettingsSection,
    ThresholdSection,
    build_risk_study,
)
from reidsim.linkage.equivalence import ValueTree
from reidsim.linkage.people import largest_in_groups
from reidsim.populations.population import Codes, distinct_rows
from reidsim.releases.lattice import Floats
from reidsim.scenarios.kind import HOUSEHOLD, PERSON, AnalysisTables, Kind, Played, Progress

_WORDS = read_toml(Path(__file__).with_name("measures.toml"))
*_RISKS, JOURNALIST_LOW, JOURNALIST_HIGH = measures_worded(_WORDS["own"]).values()
# Keys are the column names in tables of records.
RISKS_OF_PERSONS = {measure.column.removesuffix("_risk"): measure for measure in _RISKS}
MEASURES = (*_RISKS, JOURNALIST_LOW, JOURNALIST_HIGH, HOUSEHOLD_RISK)
# Definitions for releases with several records per person, which count people.
MEASURES_OF_PEOPLE = in_words(MEASURES, _WORDS["people"])
EVERYBODY = "everybody"
# Risks of a person in any record, in the order of columns.
_OF_RELEASES = ("prosecutor", "journalist", "journalist_low", "journalist_high", "marketer")
_QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}


Positions = NDArray[np.intp]
# A simulated cohort, whose rows stand for `Release.people`, and the knowledge of each adversary about the rows.
Cohort = tuple[Release, dict[str, Knowledge]]


@dataclass(frozen=True, eq=False)
class Pool:
    """People who may be in a cohort of any size, by type.

    A type consists of people with equal true values and equal released values.

    Parameters
    ----------
    release : Release
        Released and true values of each type, one row per type.
    knowledge : dict of str to Knowledge
        Knowledge of each adversary about the types.
    members : ndarray of int, shape (n_members,)
        Type of each member; the members are the people of the release.
    others : ndarray of int64, shape (n_types,), optional
        Number of people of each type in the population, without the members; None if members are drawn repeatedly.
    stratum : ndarray of int, shape (n_types,)
        Stratum of each type, from 0: types with equal released values of ``threshold.like_members``. The stratum of a
        newcomer from the population is that of a member drawn at random.
    """

    release: Release
    knowledge: dict[str, Knowledge]
    members: Positions
    others: NDArray[np.int64] | None
    stratum: Positions

    def order(self, rng: np.random.Generator, size: int) -> Positions:
        """Return the type of each person, in the order in which people join the cohort.

        Members come first, in random order. A prefix of the order is therefore a random sample of the members, and
        cohorts are nested by size. Newcomers are drawn from the population without replacement, or from the members
        with replacement.

        Parameters
        ----------
        rng : numpy.random.Generator
        size : int
            Number of people. If there are more members, all members are returned.

        Returns
        -------
        ndarray of int, shape (max(size, n_members),)

        Raises
        ------
        InputError
            If a stratum of the population has fewer people than newcomers.
        """
        kept = rng.permutation(self.members)
        joined = self.members[rng.integers(len(kept), size=max(size - len(kept), 0))]
        if self.others is None:
            return np.concatenate([kept, joined])
        # Each newcomer replaces a member of its stratum.
        wanted, drawn = self.stratum[joined], np.empty(len(joined), dtype=np.intp)
        for stratum in np.unique(wanted):
            kinds, places = np.flatnonzero(self.stratum == stratum), np.flatnonzero(wanted == stratum)
            there, many = int(self.others[kinds].sum()), len(places)
            problem = "more newcomers than similar people in the population"
            found = f"{many:,} newcomers with the same threshold.like_members"
            refuse_first((many > there, problem, "threshold.sizes", found, f"at most {there:,}"))
            counts = draw_multivariate_hypergeometric(rng, self.others[kinds], many)
            drawn[places] = rng.permutation(np.repeat(kinds, counts))
        return np.concatenate([kept, drawn])

    def cohort(self, order: Positions) -> Cohort:
        """Return the cohort of people with given types: its `Release` and `Knowledge`.

        The release has one row per distinct type, with the number of people in `Release.people`; the dict has the
        knowledge of each adversary about these rows.

        Parameters
        ----------
        order : ndarray of int, shape (n_people,)
            Type of each person.
        """
        kinds, people = np.unique(order, return_counts=True)
        return replace(_rows(self.release, kinds), people=people), _about(self.knowledge, kinds)


def grown_cohorts(
    study: RiskStudy, section: ThresholdSection, release: Release, knowledge: Mapping[str, Knowledge]
) -> Iterator[tuple[int, int, Cohort]]:
    """Yield the number of the draw, the size and the cohort, for each draw and size.

    Draws are numbered from 0. Sizes, in people, are the values of ``threshold.sizes``, ascending, without the size of
    the release itself; without other sizes, nothing is yielded. A cohort is a `Release` and the knowledge of each
    adversary about its rows; see `Pool.cohort`.

    Parameters
    ----------
    study : RiskStudy
    section : ThresholdSection
    release : Release
        The members.
    knowledge : mapping of str to Knowledge
        Knowledge of each adversary about the members.

    Raises
    ------
    InputError
        If the population is too small, or the generalization of newcomers' values is undefined.
    """
    sizes = sorted(set(section.sizes) - {release.n_records})
    if not sizes:
        return
    with locating(study.loaded.path):
        pool = pool_of(study, section, release, knowledge)
    for draw in range(section.draws):
        with locating(study.loaded.path):
            order = pool.order(study.stream("cohort", release.n_records, draw), sizes[-1])
        yield from ((draw, size, pool.cohort(order[:size])) for size in sizes)


def pool_of(study: RiskStudy, section: ThresholdSection, release: Release, knowledge: Mapping[str, Knowledge]) -> Pool:
    """Return the `Pool` of people from whom cohorts are simulated.

    If ``threshold.newcomers`` is "members", or no cohort is larger than the release, the pool has only the members of
    the release. Otherwise it also has the other people of the population. Members are removed from the population: each
    type loses as many people as it has members, or all people if it has more members than people.

    Raises
    ------
    InputError
        If the population is too small, or the generalization of newcomers' values is undefined.
    """
    n, largest, names = release.n_records, max(section.sizes), release.domain.names
    if section.newcomers != "population" or largest <= n:
        first, kind = distinct_rows([*release.true_values.T, *release.codes.T], n)
        return Pool(_rows(release, first), _about(knowledge, first), kind.astype(np.intp), None, np.zeros_like(first))
    cells = study.people.cells
    by_attribute = zip(names, cells.T, release.codes.T, strict=True)
    joining = np.column_stack([_as_released(own, shown, release.trees.get(a), a) for a, own, shown in by_attribute])
    # Without true values, the released values replace them, for newcomers and members equally.
    persons = None if release.persons is None else np.concatenate([release.persons, cells])
    everybody = replace(release, codes=np.concatenate([release.codes, joining]), persons=persons)
    first, kind = distinct_rows([*everybody.true_values.T, *everybody.codes.T], everybody.n_records)
    others = np.maximum(np.bincount(kind, np.concatenate([np.full(n, -1), study.people.counts])), 0).astype(np.int64)
    problem, most = "the cohort is larger than the population", n + int(others.sum())
    refuse_first((most < largest, problem, "threshold.sizes", largest, f"at most {most:,}"))
    kinds = _rows(everybody, first)
    alike = [kinds.codes[:, names.index(name)] for name in section.like_members]
    stratum = distinct_rows(alike, len(first))[1].astype(np.intp)
    return Pool(kinds, study.knowledge(kinds), kind[:n].astype(np.intp), others, stratum)


def _rows(release: Release, rows: Positions) -> Release:
    """Return a `Release` with some rows of a release, in the given order.

    Only values and true values are selected; other fields are unchanged.

    Parameters
    ----------
    release : Release
    rows : ndarray of int, shape (n,)
        Positions of the rows.
    """
    persons = None if release.persons is None else release.persons[rows]
    return replace(release, codes=release.codes[rows], persons=persons)


def _about(knowledge: Mapping[str, Knowledge], persons: Positions) -> dict[str, Knowledge]:
    """Return the knowledge of each adversary about some of the persons, by adversary.

    The persons are in the order of `persons`.

    Parameters
    ----------
    knowledge : mapping of str to Knowledge
        Knowledge about all persons.
    persons : ndarray of int, shape (n,)
        Positions of the persons.
    """
    found = {}
    for name, known in knowledge.items():
        sources = (replace(each, profile_of_person=each.profile_of_person[persons]) for each in known.sources)
        found[name] = replace(known, sources=tuple(sources))
    return found


def _as_released(values: Codes, members: Codes, tree: ValueTree | None, name: str) -> Codes:
    """Return the codes of newcomers' values, generalized like the members' values.

    The groups among the members' values must not include each other, so each value belongs to at most one group. A
    value in none of the groups is generalized to the widest group that includes no released value. If no member's value
    is generalized, values stay unchanged.

    Parameters
    ----------
    values : ndarray of int32, shape (n,)
        Codes of the newcomers' ungeneralized values.
    members : ndarray of int32, shape (n_members,)
        Codes of the members' released values, in `tree`.
    tree : ValueTree or None
        None if the attribute has neither groups nor suppressed values; values then stay unchanged.
    name : str
        Name of the attribute, for messages.

    Raises
    ------
    InputError
        If a group among the members' values includes another one.
    """
    if tree is None:
        return values
    used = np.unique(members)
    above = np.unique(tree.chain[used])
    strictly_above = np.setdiff1d(np.unique(tree.parent[above[above >= 0]]), [-1])
    problem = "newcomers cannot be generalized like members, because groups of the members overlap"
    where, expected = f"threshold.newcomers, column {name!r}", 'groups that do not overlap, or newcomers = "members"'
    refuse_first(*((node in strictly_above, problem, where, tree.labels[node], expected) for node in used))
    if (used < tree.attribute.size).all():
        return values
    chains = tree.chain[: tree.attribute.size].tolist()
    nodes = [next(node for node in chain if node in used or node not in strictly_above) for chain in chains]
    return np.array(nodes, dtype=np.int32)[values]


def assess_release(
    study: RiskStudy, release: Release, knowledge: Mapping[str, Knowledge], sample: int, report: Progress | None = None
) -> dict[str, Assessment]:
    """Return the `Assessment` of all persons of a release, by adversary.

    Parameters
    ----------
    study : RiskStudy
    release : Release
    knowledge : mapping of str to Knowledge
        Knowledge of each adversary about the persons of the records.
    sample : int
        Number of the sample or of the simulated cohort, which selects the random numbers.
    report : Progress, optional
        Called with the progress; by default, none is reported.

    Raises
    ------
    InputError
        If the risks cannot be computed with the scenario's method; the message names the scenario file.
    """
    section, found = study.scenario.expectation, {}
    for name, known in knowledge.items():
        with locating(study.loaded.path):
            found[name] = assess(
                release.true_values,
                known,
                study.uniqueness(),
                released=None if release.persons is None else release.codes,
                trees=release.trees,
                method=section.method,
                trials=section.trials,
                rng=study.stream(f"knowledge {name}", release.n_records, sample),
                person=release.person,
                people=release.people,
                progress=None if report is None else partial(report, f"assessing {name}"),
            )
    return found


def _tables_of(
    study: RiskStudy, release: Release, sample: int, knowledge: Mapping[str, Knowledge], found: Mapping[str, Assessment]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of each table and the DataFrame of rows that a release adds.

    They are ``runs``, ``records``, and the tables from which figures are drawn:

    - ``reductions``: quartiles over persons of the reduction of each risk from the worst case, in percent; see
      `reduction_table`.
    - ``settings``, only for the sample size of section ``figures.settings``: quartiles of the overall risk and of its
      reduction from the worst case, for all combinations of capabilities; see `settings_table`.
    - ``sources``: sources of each adversary, with price, presence and payoff of an attack; see `source_table`.
    - ``knowledge_sets``: sets of known attributes, with their probability and the population uniqueness of sample
      uniques on the set; see `set_table`.
    - ``cohorts``, only with a section ``threshold``: risk of each group of people relative to the accepted risk, by
      simulated cohort; see `cohort_table`.

    There are ``records``, ``sources`` and ``knowledge_sets`` only for sample 0.

    Parameters
    ----------
    study : RiskStudy
    release : Release
    sample : int
        Number of the sample, from 0.
    knowledge : mapping of str to Knowledge
        Knowledge of each adversary about the persons of the release.
    found : mapping of str to Assessment
        Risks of the persons of the release, by adversary.
    """
    size, scenario = release.n_records, study.scenario
    records = record_table(study, release, found)
    of_people = records if release.person is None else records.drop_duplicates(["knowledge", PERSON])
    yield "runs", _run_rows(study, release, of_people, found, sample)
    yield "reductions", reduction_table(of_people).assign(replication=sample, records=size)
    threshold, settings = scenario.threshold, scenario.figures.settings
    if threshold is not None:
        table = cohort_table(threshold, of_people)
        yield "cohorts", table.assign(replication=sample, draw=0, records=size, simulated=False)
        for draw, n_people, (cohort, known) in grown_cohorts(study, threshold, release, knowledge):
            persons = record_table(study, cohort, assess_release(study, cohort, known, draw))
            table = cohort_table(threshold, persons, np.tile(np.asarray(cohort.people), len(known)))
            yield "cohorts", table.assign(replication=sample, draw=draw, records=n_people, simulated=True)
    if settings is not None and size == (settings.records or study.sizes[0]):
        rng = study.stream("outcomes", size, sample)
        yield "settings", settings_table(settings, release, found, rng).assign(replication=sample)
    if sample == 0:
        yield "records", records
        yield "sources", source_table(study, release, knowledge, found).assign(records=size)
        yield "knowledge_sets", set_table(found).assign(records=size)


def _run_rows(
    study: RiskStudy, release: Release, records: pd.DataFrame, found: Mapping[str, Assessment], sample: int
) -> pd.DataFrame:
    """Return the mean risks over the persons of a release: one row per adversary.

    Columns are ``point`` (position of the size among the study's sizes), ``replication`` (the sample), ``records``,
    ``knowledge`` (the adversary), the mean of each risk, ``method`` and the standard errors. Standard errors are of the
    mean over persons; they are 0 if the risks are exact.

    Parameters
    ----------
    study : RiskStudy
    release : Release
    records : DataFrame
        One row per person and adversary; see `record_table`.
    found : mapping of str to Assessment
        Risks by adversary.
    sample : int
        Number of the sample, from 0.
    """
    names, n = {name: measure.column for name, measure in RISKS_OF_PERSONS.items()}, release.n_records
    averaged = [*names, JOURNALIST_LOW.column, JOURNALIST_HIGH.column, *[HOUSEHOLD] * (release.household is not None)]
    means = records.groupby("knowledge", sort=False, observed=True)[averaged].mean().rename(columns=names)
    return pd.DataFrame(
        {
            "point": study.sizes.index(n),
            "replication": sample,
            "records": n,
            "knowledge": means.index.astype("str"),
            **{str(name): column.to_numpy() for name, column in means.items()},
            "method": [assessment.risks.method for assessment in found.values()],
            **{
                f"{risk}_standard_error": [each.standard_error_of_mean(of) for each in found.values()]
                for risk, of in _risk_arguments(study).items()
            },
        }
    )


def record_table(study: RiskStudy, release: Release, found: Mapping[str, Assessment]) -> pd.DataFrame:
    """Return one row per record and adversary: the person's risks and released values.

    Returns
    -------
    DataFrame
        Columns: ``record`` (from 0, in the order of the release), ``records`` (number of records of the release),
        ``knowledge`` (the adversary), ``prosecutor``, ``journalist`` with ``journalist_low`` and ``journalist_high``
        (ends of its confidence interval), ``marketer``, ``overall``, the standard error of each of the four (0 if
        exact), and the attributes. With ``release.person``, there is also the number of the ``person``, and each risk
        is the largest among the person's records, equal in all of them. With households, there is also
        ``household_risk``, the largest overall risk in the person's household.
    """
    released, n = {}, release.n_records
    for position, attribute in enumerate(release.domain.attributes):
        tree = release.trees.get(attribute.name)
        labels = attribute.labels if tree is None else pd.Index(list(tree.labels), dtype="str")
        released[attribute.name] = pd.Categorical.from_codes(release.codes[:, position], categories=labels)
    parts = []
    for name, assessment in found.items():
        risks, overall = assessment.risks, assessment.risks.overall(study.scenario.network)
        household = release.household
        rows: dict[str, Any] = {
            "record": np.arange(n),
            **({} if release.person is None else {PERSON: release.person}),
            "records": n,
            "knowledge": pd.Categorical([name] * n, categories=list(found)),
            **{risk: release.by_person(getattr(risks, risk)) for risk in _OF_RELEASES},
            "overall": release.by_person(overall),
            **({} if household is None else {HOUSEHOLD: largest_in_groups(overall, household)}),
            **{f"{risk}_standard_error": risks.standard_error(of) for risk, of in _risk_arguments(study).items()},
        }
        parts.append(pd.DataFrame(rows | released))
    return pd.concat(parts, ignore_index=True)


def _risk_arguments(study: RiskStudy) -> dict[str, RiskName | Network]:
    """Return, by name of the risk, the argument that selects it in an `Assessment`.

    The overall risk is selected by the adversary's capabilities (`Network`), the other three by their name.
    """
    network = study.scenario.network
    return {"prosecutor": "prosecutor", "journalist": "journalist", "marketer": "marketer", "overall": network}


def reduction(worst: Floats, risk: Floats) -> Floats:
    """Return the reduction of each risk from the worst case, in percent, shape (n,).

    An element is 100 * (1 - risk / worst); NaN where the worst-case risk is 0.

    Parameters
    ----------
    worst, risk : ndarray of float64, shape (n,)
        Risks of the same persons in the worst case and from the adversary, in [0, 1].
    """
    share = np.divide(risk, worst, out=np.full(len(risk), np.nan), where=worst > 0)
    return np.asarray(100 * (1 - share))


def _quartiles(values: Floats) -> dict[str, float]:
    """Return the quartiles of values: a dict with keys ``q1``, ``median`` and ``q3``.

    NaN values are ignored; without any other values, the quartiles are NaN.
    """
    present = values[~np.isnan(values)]
    found = np.quantile(present, list(_QUARTILES.values())).tolist() if len(present) else [np.nan] * len(_QUARTILES)
    return dict(zip(_QUARTILES, found, strict=True))


def reduction_table(records: pd.DataFrame) -> pd.DataFrame:
    """Return quartiles over persons of risk reductions (Xia et al. 2021, Table 3).

    Reductions are in percent of the worst-case risk. The risks are journalist, prosecutor, marketer and overall.

    Parameters
    ----------
    records : DataFrame
        One row per person and adversary, with the worst case among the adversaries; see `record_table`.

    Returns
    -------
    DataFrame
        One row per adversary (other than the worst case) and risk: ``knowledge``, ``risk``, ``persons`` (number with a
        positive risk in the worst case, over which quartiles are taken), ``q1``, ``median`` and ``q3`` (missing if
        there are no such persons).
    """
    by_adversary = {str(name): rows for name, rows in records.groupby("knowledge", sort=False, observed=True)}
    worst, rows = by_adversary.pop(WORST_CASE), []
    for (name, table), risk in product(by_adversary.items(), RISK_NAMES):
        values = reduction(worst[risk].to_numpy(), table[risk].to_numpy())
        rows.append({"knowledge": name, "risk": risk, "persons": int((~np.isnan(values)).sum()), **_quartiles(values)})
    return pd.DataFrame(rows)


def settings_table(
    section: SettingsSection, release: Release, found: Mapping[str, Assessment], rng: np.random.Generator
) -> pd.DataFrame:
    """Return quartiles of risk reductions by capabilities (Xia et al. 2021, Table 4).

    The reduction of overall risk is computed for all combinations of capabilities. With ``trials``, the outcome of each
    person is simulated that many times, and the share of re-identifications replaces the risk, as in the published
    study. Persons with a worst-case risk (or share) of 0 are excluded from the quartiles of the reduction.

    Parameters
    ----------
    section : SettingsSection
        Values of each capability, and the number of trials.
    release : Release
    found : mapping of str to Assessment
        Risks by adversary, with the worst case.
    rng : numpy.random.Generator
        Draws the outcomes; used only with ``trials``.

    Returns
    -------
    DataFrame
        One row per combination and adversary, with the worst case among the adversaries: ``p_m``, ``p_c``, ``p_fm``,
        ``p_cu`` (capabilities, see `Network`), ``knowledge``; ``q1``, ``median``, ``q3`` over persons of the
        reduction in percent; and ``risk_q1``, ``risk_median``, ``risk_q3`` of the risk itself.
    """
    rows = []
    for values in product(section.p_m, section.p_c, section.p_fm, section.p_cu):
        setting = dict(zip(("p_m", "p_c", "p_fm", "p_cu"), values, strict=True))
        risks = {name: release.of_people(each.risks.overall(Network(**setting))) for name, each in found.items()}
        if section.trials is not None:
            risks = {name: draw_binomial(rng, section.trials, risk) / section.trials for name, risk in risks.items()}
        for name, risk in risks.items():
            of_risk = {f"risk_{quartile}": value for quartile, value in _quartiles(risk).items()}
            rows.append({**setting, "knowledge": name, **_quartiles(reduction(risks[WORST_CASE], risk)), **of_risk})
    return pd.DataFrame(rows)


def source_table(
    study: RiskStudy, release: Release, knowledge: Mapping[str, Knowledge], found: Mapping[str, Assessment]
) -> pd.DataFrame:
    """Return the knowledge sources of each adversary, and the payoff of an attack.

    Parameters
    ----------
    study : RiskStudy
    release : Release
    knowledge : mapping of str to Knowledge
        Knowledge of each adversary about the persons of the release.
    found : mapping of str to Assessment
        Risks by adversary.

    Returns
    -------
    DataFrame
        One row per adversary and source: ``knowledge``, ``source``, ``price`` (in currency units), ``presence`` (mean
        probability that the source contains a person of the release). With the scenario's section ``attack``, also
        ``persons_attacked`` and ``payoff``, equal in all rows of an adversary: with all its sources together, the
        adversary attacks each person whose expected gain (gain times overall risk) exceeds the cost. The payoff, in
        currency units, is the sum of gain less cost over these persons, less the price of all sources, which is paid
        once.
    """
    attack, rows = study.scenario.attack, []
    for name, known in knowledge.items():
        pays: dict[str, float] = {}
        if attack is not None:
            net = attack.gain * release.of_people(found[name].risks.overall(study.scenario.network)) - attack.cost
            payoff = float(net[net > 0].sum()) - known.total_price
            pays = {"persons_attacked": int((net > 0).sum()), "payoff": payoff}
        for source in known.sources:
            presence = float(source.presence.mean())
            row = {"knowledge": name, "source": source.name, "price": source.total_price, "presence": presence}
            rows.append(row | pays)
    return pd.DataFrame(rows)


def set_table(found: Mapping[str, Assessment]) -> pd.DataFrame:
    """Return a table of the sets of attributes that each adversary may know.

    Parameters
    ----------
    found : mapping of str to Assessment
        Risks and knowledge sets, by adversary.

    Returns
    -------
    DataFrame
        One row per adversary and set: ``knowledge``, ``attributes`` (names separated by commas), ``probability`` (of
        knowing exactly this set, mean over persons), ``sample_uniques`` (number of records that are unique on the set;
        missing where uniqueness is not estimated), ``unique`` (probability that a sample unique on the set is a
        population unique), ``unique_low`` and ``unique_high`` (ends of its confidence interval). The last three are
        missing if the population is known.
    """
    parts = []
    for name, each in found.items():
        columns = {
            "knowledge": name,
            "attributes": [", ".join(known) for known in each.sets],
            "probability": each.probability,
            "sample_uniques": [np.nan if e is None else e.sample_uniques for e in each.uniqueness],
            **dict(zip(("unique", "unique_low", "unique_high"), each.chances, strict=True)),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def cohort_table(section: ThresholdSection, records: pd.DataFrame, people: Any = 1) -> pd.DataFrame:
    """Return a cohort's risk and the accepted risk, in total and by group of people.

    Parameters
    ----------
    section : ThresholdSection
        Accepted risk, percentile, compared risk and attributes that define the groups.
    records : DataFrame
        One row per person (or type of people) and adversary: ``knowledge``, the risks and the attributes.
    people : int or ndarray of int64, shape (n_rows,)
        Number of people that each row represents; by default 1.

    Returns
    -------
    DataFrame
        One row per adversary and group of people: ``knowledge``, ``attribute`` (``everybody`` for the whole cohort, or
        an attribute of ``threshold.groups``), ``value`` (of the attribute), ``persons`` (number), ``percentile_risk``
        (the smallest risk that the share ``threshold.percentile`` of persons does not exceed), ``mean_risk``,
        ``share_above`` (share of persons whose risk exceeds the accepted risk), ``threshold`` (the accepted risk) and
        ``percentile``.
    """
    rows, shown = [], records[["knowledge", section.risk, *section.groups]]
    persons = shown.take(np.repeat(np.arange(len(records)), people))
    for knowledge, table in persons.groupby("knowledge", sort=False, observed=True):
        groups = [(EVERYBODY, EVERYBODY, table[section.risk])]
        for name in section.groups:
            by_value = table.groupby(name, sort=False, observed=True)[section.risk]
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


def _warnings(study: RiskStudy, methods: Mapping[str, Mapping[str, Any]], sets: pd.DataFrame) -> Iterator[str]:
    for name, method in methods.items():
        if method["method"] == "monte-carlo":
            drawn = f"{method['trials']:,} knowledge sets were drawn"
            yield f"{name}: {drawn}; see the standard errors in runs and records"
    vague = sets[(sets["unique_high"] - sets["unique_low"] > 0.2) & (sets["probability"] > 0)]
    if len(vague):
        yield (
            f"population uniqueness is estimated within intervals wider than .2 on {len(vague)} of {len(sets)} sets of "
            "attributes, so journalist risk is imprecise; see knowledge_sets"
        )
    grows = study.scenario.threshold
    if grows is not None and grows.newcomers == "members" and max(grows.sizes, default=0) > study.sizes[0]:
        yield "larger cohorts repeat members, which understates their risk (threshold.newcomers)"


class AssessmentKind(Kind):
    """Kind that assesses the risk of a release, without decisions; see `Kind`."""

    name = "risk"
    words = "the re-identification risk of a given release is assessed, without a game"
    schema = RiskScenario
    measures = MEASURES
    measures_of_people = MEASURES_OF_PEOPLE
    drawn_by = "reidsim.kinds.assessment.figures"
    decides = ""

    build = staticmethod(build_risk_study)

    def describe(self, study: RiskStudy) -> str:
        """Draw the first release and return a line on the size of the assessment.

        The line has the numbers of releases, records, people (with ``release.person``) and attributes, and each
        adversary's number of knowledge sets (combinations of attributes that it may know of a person).
        """
        release = study.release(study.sizes[0], 0)
        releases, sizes = counted(study.scenario.release.samples, "release"), ", ".join(map("{:,}".format, study.sizes))
        people = "" if release.person is None else f" of {counted(release.n_people, 'person', 'people')}"
        parts = [f"{releases} of {sizes} records{people}", counted(len(release.domain.names), "attribute")]
        for name, knowledge in study.knowledge(release).items():
            parts.append(f"{name} (up to {counted(count_sets(knowledge), 'knowledge set')} per person)")
        return ", ".join(parts)

    def assess(self, study: RiskStudy, report: Progress) -> Played:
        """Return the risks of every person of every sample, as a `Played`.

        Risks are computed for every adversary and for the worst case. The table of runs has one row per size, sample
        and adversary; the table of records contains the first sample of each size. For the other tables, see
        `_tables_of`. `report` is called with the progress.
        """
        tables, methods = defaultdict[str, list[pd.DataFrame]](list), dict[str, dict[str, Any]]()
        n_samples = study.scenario.release.samples
        work = list(product(study.sizes, range(n_samples)))
        for number, (size, sample) in enumerate(work):
            report("assessing", number, len(work))
            release = study.release(size, sample)
            knowledge = study.knowledge(release)
            found = assess_release(study, release, knowledge, sample, report if len(work) == 1 else None)
            for name, each in found.items():
                # Report the release with the most distinct persons.
                if name not in methods or each.n_cells >= methods[name]["distinct_persons"]:
                    method = {"method": each.risks.method, "knowledge_sets": len(each.sets)}
                    methods[name] = {**method, "trials": each.risks.trials, "distinct_persons": each.n_cells}
            for name, table in _tables_of(study, release, sample, knowledge, found):
                tables[name].append(table)
        made: dict[str, Any] = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
        runs, records, file = made.pop("runs"), made.pop("records"), study.file
        facts = {
            "records": list(study.sizes),
            **({} if file is None or file.person is None else {"released_people": file.n_people}),
            "samples": n_samples,
            "attributes": list(study.domain.names),
            "people": None if study.population is None else study.population.total,
            "data_hash": study.fingerprint,
            "knowledge": methods,
        }
        warnings = tuple(_warnings(study, methods, made["knowledge_sets"]))
        measures = columns_of(_RISKS) + [HOUSEHOLD] * (HOUSEHOLD in runs)
        return Played(runs, records, AnalysisTables(made), facts, warnings, ("records", "knowledge"), tuple(measures))


ASSESSMENT = AssessmentKind()
