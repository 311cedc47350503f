"""Assess the risks of a release for every sample and every adversary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.assessment import Assessment, assess
from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.core.measures import columns_of
from reidsim.errors import locating
from reidsim.kinds.assessment.growth import grown_cohorts, growth_warnings
from reidsim.kinds.assessment.measures import JOURNALIST_HIGH, JOURNALIST_LOW, RISKS, RISKS_OF_PERSONS
from reidsim.kinds.assessment.release import Release
from reidsim.kinds.assessment.risk_tables import (
    cohort_table,
    record_table,
    reduction_table,
    risk_arguments,
    set_table,
    settings_table,
    source_table,
    threshold_risks,
)
from reidsim.kinds.assessment.study import RiskStudy
from reidsim.scenarios.people import HOUSEHOLD, PERSON
from reidsim.scenarios.study import AnalysisTables, Played, Progress


@dataclass(frozen=True, eq=False, kw_only=True)
class RiskAnalysis(AnalysisTables):
    """Tables behind the figures of a scenario of the kind ``risk``.

    Tables that do not apply are empty.

    Parameters
    ----------
    reductions : DataFrame
        Quartiles over persons of the reduction of each risk from the worst case, in percent, by release; see
        `reduction_table`.
    settings : DataFrame
        Quartiles of the reduction of overall risk, for all combinations of capabilities, by sample; see
        `settings_table`.
    sources : DataFrame
        Sources of each adversary: price, presence, payoff of an attack; see `source_table`. Like `knowledge_sets`, from
        the first sample of each size.
    knowledge_sets : DataFrame
        Sets of known attributes, with their probability and the population uniqueness of sample uniques on the set; see
        `set_table`.
    cohorts : DataFrame
        Risk of each group of people relative to the accepted risk, by release and simulated cohort; see `cohort_table`.
    """

    reductions: pd.DataFrame = field(default_factory=pd.DataFrame)
    settings: pd.DataFrame = field(default_factory=pd.DataFrame)
    sources: pd.DataFrame = field(default_factory=pd.DataFrame)
    knowledge_sets: pd.DataFrame = field(default_factory=pd.DataFrame)
    cohorts: pd.DataFrame = field(default_factory=pd.DataFrame)


def assess_study(study: RiskStudy, report: Progress) -> Played:
    """Compute the risks of every person of every sample.

    Risks are computed for every adversary and for the worst case. The table of runs has one row per size, sample and
    adversary; the table of records contains the first sample of each size.
    """
    tables: dict[str, list[pd.DataFrame]] = {}
    methods: dict[str, dict[str, Any]] = {}
    n_work = len(study.sizes) * study.n_samples
    for number, (size, sample) in enumerate((s, r) for s in study.sizes for r in range(study.n_samples)):
        report("assessing", number, n_work)
        release = study.release(size, sample)
        knowledge = study.knowledge(release)
        found = assess_release(study, release, knowledge, sample, report if n_work == 1 else None)
        for name, assessment in found.items():
            # Report the release with the most distinct persons.
            if name not in methods or assessment.n_cells >= methods[name]["distinct_persons"]:
                methods[name] = {
                    "method": assessment.risks.method,
                    "knowledge_sets": len(assessment.sets),
                    "trials": assessment.risks.trials,
                    "distinct_persons": assessment.n_cells,
                }
        for name, table in _tables_of(study, release, sample, knowledge, found):
            tables.setdefault(name, []).append(table)
    made: dict[str, Any] = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    runs, records = made.pop("runs"), made.pop("records")
    analysis = RiskAnalysis(**made)
    facts = {
        "records": list(study.sizes),
        **({} if study.file is None or study.file.person is None else {"released_people": study.file.n_people}),
        "samples": study.n_samples,
        "attributes": list(study.domain.names),
        "people": None if study.population is None else study.population.total,
        "data_hash": study.fingerprint,
        "knowledge": methods,
    }
    warnings = (*_warnings(methods, analysis.knowledge_sets), *growth_warnings(study))
    measures = columns_of(RISKS) + [HOUSEHOLD] * (HOUSEHOLD in runs)
    return Played(runs, records, analysis, facts, warnings, ("records", "knowledge"), tuple(measures))


def assess_release(
    study: RiskStudy,
    release: Release,
    knowledge: Mapping[str, Knowledge],
    sample: int,
    report: Progress | None = None,
    people: NDArray[np.int64] | None = None,
) -> dict[str, Assessment]:
    """Return the risks of all persons of a release, by adversary.

    Parameters
    ----------
    study : RiskStudy
    release : Release
    knowledge : mapping of str to Knowledge
        Knowledge of each adversary about the persons of the records.
    sample : int
        Number of the sample or of the simulated cohort, which selects the random numbers.
    report : Progress, optional
    people : ndarray of int64, shape (n_records,), optional
        Number of people that each record represents; 1 by default.
    """
    section = study.scenario.expectation
    found = {}
    for name, known in knowledge.items():
        with locating(study.loaded.path):
            found[name] = assess(
                release.codes if release.persons is None else release.persons,
                known,
                study.uniqueness(),
                released=None if release.persons is None else release.codes,
                trees=release.trees,
                method=section.method,
                trials=section.trials,
                rng=study.stream(f"knowledge {name}", release.n_records, sample),
                person=release.person,
                people=people,
                progress=None if report is None else partial(report, f"assessing {name}"),
            )
    return found


def _tables_of(
    study: RiskStudy,
    release: Release,
    sample: int,
    knowledge: Mapping[str, Knowledge],
    found: Mapping[str, Assessment],
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of each table and the rows that one release adds to it."""
    size = release.n_records
    records = record_table(study, release, found)
    yield "runs", _run_rows(study, release, records, found, sample)
    of_people = records if release.person is None else records.drop_duplicates(["knowledge", PERSON])
    yield "reductions", reduction_table(of_people).assign(replication=sample, records=size)
    threshold = study.scenario.threshold
    if threshold is not None:
        table = cohort_table(threshold, of_people)
        yield "cohorts", table.assign(replication=sample, draw=0, records=size, simulated=False)
        for draw, cohort in grown_cohorts(study, threshold, release, knowledge):
            risks = assess_release(study, cohort.release, cohort.knowledge, draw, people=cohort.people)
            table = cohort_table(threshold, threshold_risks(study, threshold, cohort.release, risks, cohort.people))
            yield "cohorts", table.assign(replication=sample, draw=draw, records=cohort.size, simulated=True)
    settings = study.scenario.figures.settings
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
    """Return the mean risks over the persons of a release, one row per adversary.

    Standard errors are of the mean over persons; they are 0 if the risks are exact.
    """
    averaged = [*RISKS_OF_PERSONS, JOURNALIST_LOW.column, JOURNALIST_HIGH.column]
    if release.person is not None:
        records = records.drop_duplicates(["knowledge", PERSON])
    averaged += [HOUSEHOLD] * (release.household is not None)
    means = records.groupby("knowledge", sort=False, observed=True)[averaged].mean()
    n = int(records["records"].iloc[0])
    return pd.DataFrame(
        {
            "point": study.sizes.index(n),
            "replication": sample,
            "records": n,
            "knowledge": means.index.astype("str"),
            **{measure.column: means[name].to_numpy() for name, measure in RISKS_OF_PERSONS.items()},
            **{measure.column: means[measure.column].to_numpy() for measure in (JOURNALIST_LOW, JOURNALIST_HIGH)},
            **({} if release.household is None else {HOUSEHOLD: means[HOUSEHOLD].to_numpy()}),
            "method": [assessment.risks.method for assessment in found.values()],
            **{
                f"{name}_standard_error": [assessment.standard_error_of_mean(risk) for assessment in found.values()]
                for name, risk in risk_arguments(study).items()
            },
        }
    )


def _warnings(methods: Mapping[str, Mapping[str, Any]], sets: pd.DataFrame) -> tuple[str, ...]:
    warnings = [
        f"{name}: {method['trials']:,} knowledge sets were drawn; see the standard errors in runs and records"
        for name, method in methods.items()
        if method["method"] == "monte-carlo"
    ]
    vague = sets[(sets["unique_high"] - sets["unique_low"] > 0.2) & (sets["probability"] > 0)]
    if len(vague):
        warnings.append(
            f"population uniqueness is estimated within intervals wider than .2 on {len(vague)} of {len(sets)} sets of "
            "attributes, so journalist risk is imprecise; see knowledge_sets"
        )
    return tuple(warnings)
