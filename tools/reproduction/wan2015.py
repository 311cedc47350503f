"""The printed numbers of Wan et al. 2015, computed anew."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.outcomes import Equilibrium, evaluate
from reidsim.games.record_game import Choice
from reidsim.games.solvers import Options, best_options, branch_and_bound, lattice_search, undominated_options
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES, search_deviation
from reidsim.kinds.tables.outcomes import strategy_table
from reidsim.kinds.tables.study import TablesStudy
from reidsim.scenarios.kind import equilibria_of
from reidsim.scenarios.scenario import Scenario
from reproduction.ledger import Computed, Found, Ledger, compared

_Summary = Mapping[str, Mapping[str, float]]


def ledger() -> Ledger:
    """Run the study and compare it with the paper."""
    loaded = Scenario.load("wan2015")
    study = build_study(loaded)
    equilibria = equilibria_of(TABLES.play(study))
    summary = _measures(study, equilibria)
    found = {
        **_facts(study, equilibria["safe-harbor"]),
        **_figure_5(study),
        **_table_7(summary),
        **_sh_friendly_gain(summary),
        **_table_8(study, summary),
        **_sensitivity(study),
        **_sensitivity_at_cost_8(),
    }
    return compared(loaded.name, loaded.scenario.source, found)


def _measures(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> _Summary:
    """Return the averages of a run as numbers by policy and measure."""
    table = TABLES.summarise(study, 0, equilibria)
    averages = table.to_numpy(dtype=np.float64).tolist()
    columns = [str(name) for name in table.columns]
    return {
        str(policy): dict(zip(columns, row, strict=True)) for policy, row in zip(table.index, averages, strict=True)
    }


def _facts(study: TablesStudy, safe_harbor: Equilibrium) -> dict[str, Computed]:
    age, race, sex, zip_code = (hierarchy.attribute.size for hierarchy in study.lattice.hierarchies)
    intensity = float(np.average(safe_harbor.generalization_intensity, weights=study.weights))
    return {
        "records": study.n_records,
        "domain": f"{age}, {race}, {sex}, {zip_code}",
        "strategies": study.lattice.size,
        "greatest loss": sum(math.log(size) for size in (age, race, zip_code)),
        "intensity of Safe Harbor": intensity,
    }


def _figure_5(study: TablesStudy) -> dict[str, Computed]:
    table = strategy_table(study, {"age": "48", "race": "API", "sex": "Female", "zip": "38363"})
    rows = table.to_dict("records")
    best = rows[int(table["publisher_payoff"].to_numpy().argmax())]
    shared = ", ".join(best[name] for name in study.lattice.domain.names)
    harbor = next(row for row in rows if row["strategy"] == "0,0,0,2")
    return {
        "best strategy": f"({shared})",
        "best intensity": best["generalization_intensity"],
        "best payoff": best["publisher_payoff"],
        "best success": best["success_probability"],
        "Safe Harbor success": harbor["success_probability"],
        "Safe Harbor payoff": harbor["publisher_payoff"],
        "Safe Harbor adversary": harbor["adversary_payoff"],
    }


def _table_7(summary: _Summary) -> dict[str, Computed]:
    return {f"{policy} {measure}": value for policy, values in summary.items() for measure, value in values.items()}


def _sh_friendly_gain(summary: _Summary) -> dict[str, Computed]:
    """How much the SH-Friendly game improves on Safe Harbor, as is and if the first race merger costs nothing."""
    gain = summary["sh-friendly"]["publisher_payoff"] - summary["safe-harbor"]["publisher_payoff"]
    study = build_study(Scenario.load("wan2015", {"attributes.race.hierarchy.costless_levels": [1]}))
    free = _measures(study, equilibria_of(TABLES.play(study)))
    free_gain = free["sh-friendly"]["publisher_payoff"] - free["safe-harbor"]["publisher_payoff"]
    return {
        "sh-friendly gain": gain,
        "costless: sh-friendly gain": free_gain,
        "costless: sh-friendly share_attacked": free["sh-friendly"]["share_attacked"],
        "costless: sh-friendly generalization_intensity": free["sh-friendly"]["generalization_intensity"],
    }


def _table_8(study: TablesStudy, summary: _Summary) -> dict[str, Computed]:
    game = study.truth
    found, best = evaluate(game, lattice_search(game)), evaluate(game, branch_and_bound(game))
    search = search_deviation(found, best, game.tie(), study.weights)
    return {
        "LBS evaluated": search["evaluated"],
        "LBS publisher difference": search["publisher_payoff_difference"],
        "LBS optimal": search["share_optimal"],
        "LBS payoff": summary["basic"]["publisher_payoff"] - search["publisher_payoff_difference"],
        "BIS searched": study.lattice.size,
        "LBS adversary difference": search["adversary_payoff_difference"],
    }


def _sensitivity(study: TablesStudy) -> dict[str, Computed]:
    benefit = np.linspace(10, 400, 40)
    cost = np.linspace(0, 300, 151)
    basic = undominated_options(study.lattice, study.truth.linker)
    safe = np.asarray(study.safe_harbor)
    found = evaluate(study.truth, Choice(safe, "safe-harbor", np.ones_like(safe), exact=False))
    options = (found.utility, found.success_probability, found.generalization_intensity)
    harbor = Options(np.arange(len(safe) + 1), safe, *options)

    def attacked_less(**changes: NDArray[np.float64]) -> NDArray[np.bool_]:
        (mine, _, _), (rule, _, _) = (_averages(study, options, **changes) for options in (basic, harbor))
        return mine <= rule + 1e-9

    benefit_limit = _end_of_run(attacked_less(benefit=benefit), benefit)
    cost_limit = _end_of_run(~attacked_less(cost=cost), cost)
    benefits, losses = np.linspace(50, 1500, 30), np.linspace(200, 25_000, 125)
    # One row per benefit, one column per loss.
    rows, columns = np.meshgrid(benefits, losses, indexing="ij")
    maps = _averages(study, basic, benefit=rows.ravel(), loss=columns.ravel())
    attacked, intensity = (values.reshape(rows.shape) for values in maps[1:])
    seldom = _end_of_run(np.all(attacked < 0.30, axis=0), losses)
    seldom_benefit = _end_of_run(np.all(attacked < 0.30, axis=1), benefits)
    milder = _end_of_run(np.all(intensity < 0.1431, axis=0), losses)
    milder_benefit = _end_of_run(np.all(intensity < 0.1431, axis=1)[::-1], benefits[::-1])
    at_1200 = attacked[benefits == 1200, losses == 1000].item()
    return {
        "seldom attacked": Found(
            f"L <= {seldom:,.0f}", holds=seldom >= 1000, note=f"{at_1200:.1%} are attacked at V = 1,200, L = 1,000"
        ),
        "seldom attacked whatever L": Found(f"V <= {seldom_benefit:,.0f}", holds=seldom_benefit >= 100),
        "milder": Found(f"L <= {milder:,.0f}", holds=milder >= 4200),
        "milder whatever L": Found(
            "none" if math.isnan(milder_benefit) else f"V >= {milder_benefit:,.0f}", holds=milder_benefit <= 100
        ),
        "attacked less by V": Found(f"V <= {benefit_limit:,.0f}", holds=benefit_limit >= 190),
        "attacked less by c": Found(f"c > {cost_limit:,.0f}", holds=cost_limit <= 90),
    }


def _sensitivity_at_cost_8() -> dict[str, Computed]:
    """Compute the limits at twice the stated cost, at which most of the printed ones appear."""
    limits = _sensitivity(build_study(Scenario.load("wan2015", {"economics.cost": 8})))
    return {f"cost 8: {key}": found for key, found in limits.items()}


def _averages(
    study: TablesStudy, options: Options, **changes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return adversary's payoff, share attacked and generalization intensity at each point, averaged over records.

    The benefit, loss or cost in `changes`, arrays of equal length, replaces the study's; the gain equals the loss.
    """
    base = study.scenario.economics
    amounts = (changes.get(name, getattr(base, name)) for name in ("benefit", "loss", "cost"))
    found = []
    for benefit, loss, cost in zip(*(each.tolist() for each in np.broadcast_arrays(*amounts)), strict=True):
        best = best_options(options, benefit, loss, loss, cost)
        payoff = loss * options.success[best] - cost
        attacked = payoff > cost * INDIFFERENCE
        outcomes = (np.where(attacked, payoff, 0.0), attacked, options.intensity[best])
        found.append([np.average(outcome, weights=study.weights) for outcome in outcomes])
    adversary_payoff, share_attacked, intensity = np.transpose(found)
    return adversary_payoff, share_attacked, intensity


def _end_of_run(holds: NDArray[np.bool_], values: NDArray[np.float64]) -> float:
    """Return the last value of the unbroken run of truth that begins with the first; NaN if there is none."""
    run = len(holds) if holds.all() else int(np.argmin(holds))
    return float(values[run - 1]) if run else float("nan")
