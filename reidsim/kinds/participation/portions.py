"""People who decide whether to join, cut down: to fewer types, or to fewer draws of who drops out."""

from __future__ import annotations

from dataclasses import replace

from reidsim.kinds.participation.study import ParticipationStudy
from reidsim.scenarios.portions import Portions


def portions(study: ParticipationStudy) -> Portions:
    """Return how a study is cut down; see `Kind.portions`. Relatives are not: whoever has fewer decides otherwise."""
    scenario, figures = study.scenario, study.scenario.figures
    population, equilibria = scenario.population, figures.equilibria

    def of_types(number: int) -> ParticipationStudy:
        return changed(population=population.model_copy(update={"types": number}))

    def of_draws(number: int) -> ParticipationStudy:
        fewer = equilibria.model_copy(update={"draws": number})
        return changed(figures=figures.model_copy(update={"equilibria": fewer}))

    def changed(**sections: object) -> ParticipationStudy:
        return replace(study, loaded=replace(study.loaded, scenario=scenario.model_copy(update=sections)))

    if study.relatives is None:
        return Portions(population.types, of_types)
    return Portions(equilibria.draws, of_draws)
