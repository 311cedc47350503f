"""The printed numbers of Wan et al. 2015, computed anew."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.lattice_search import lattice_search
from reidsim.games.measures import (
    ADVERSARY_PAYOFF,
    GENERALIZATION_INTENSITY,
    MEASURES,
    PUBLISHER_PAYOFF,
    SHARE_ATTACKED,
)
from reidsim.games.parameter_grid import (
    Options,
    ParameterPoints,
    average_outcomes,
    fixed_options,
    undominated_options,
)
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.kinds.tables.outcomes import play
from reidsim.kinds.tables.record_figures import strategy_table
from reidsim.kinds.tables.record_measures import search_deviation
from reidsim.kinds.tables.study import TablesStudy
from reidsim.reports.ledger import Entry, Ledger
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.study import equilibria_of

_HOW = """
The exact census tables of the study (2010 SF1 PCT12A-G by ZCTA) are not bundled; the population is made from
published figures (see `populations/tennessee-2010.toml`), and ZIP codes are drawn once with the scenario's seed, as
the paper drew them once. Tolerances follow from that: 0.3 % on the publisher's payoff (over ten draws of ZIP codes it
has a standard deviation of up to $0.32, and the approximate ages move it by up to $1.9), 1 percentage point on shares
of records, .001 on generalization intensity, .0025 on the probability of re-identification over all records and .015
over attacked ones, $0.30 on the adversary's payoff. Numbers that do not depend on the population are held to the
digits printed.
"""

# Table 7 as printed, except that two rows of its columns SH and Basic are exchanged there (see the notes).
_TABLE_7: Mapping[str, Mapping[str, float]] = {
    "safe-harbor": {
        "publisher_payoff": 852.06, "adversary_payoff": 0.43, "share_suppressed": 0, "share_unchanged": 0,
        "generalization_intensity": 0.1431, "share_attacked": 0.0268, "risk": 0.0018, "risk_if_attacked": 0.0668,
    },
    "basic": {
        "publisher_payoff": 1195.50, "adversary_payoff": 2.43, "share_suppressed": 0, "share_unchanged": 0.6298,
        "generalization_intensity": 0.0280, "share_attacked": 0.2187, "risk": 0.0110, "risk_if_attacked": 0.0504,
    },
    "sh-friendly": {
        "publisher_payoff": 852.51, "adversary_payoff": 0.05, "share_suppressed": 0, "share_unchanged": 0,
        "generalization_intensity": 0.1453, "share_attacked": 0.0091, "risk": 0.0003, "risk_if_attacked": 0.0310,
    },
    "no-attack": {
        "publisher_payoff": 1169.80, "adversary_payoff": 0, "share_suppressed": 0, "share_unchanged": 0.6273,
        "generalization_intensity": 0.0412, "share_attacked": 0, "risk": 0,
    },
}  # fmt: skip

_EXCHANGED = "the printed table has the two risk rows of SH and Basic exchanged: .2187 x .0504 = .0110"
_Summary = Mapping[str, Mapping[str, float]]

_WORDS = {measure.column: measure.in_text for measure in MEASURES}
_TOLERANCES = {
    "adversary_payoff": 0.30,
    "share_suppressed": 0.01,
    "share_unchanged": 0.01,
    "generalization_intensity": 0.001,
    "share_attacked": 0.01,
    "risk": 0.0025,
    "risk_if_attacked": 0.015,
}


def ledger() -> Ledger:
    """Run the study and compare it with the paper."""
    loaded = load_scenario("wan2015")
    study = build_study(loaded)
    equilibria = equilibria_of(play(study))
    summary = _measures(study, equilibria)
    entries = [
        *_facts(study, equilibria["safe-harbor"]),
        *_figure_5(study),
        *_table_7(summary),
        *_sh_friendly_gain(summary),
        *_table_8(study, summary),
        *_sensitivity(study),
    ]
    return Ledger(loaded.name, loaded.scenario.source, _HOW, entries)


def _measures(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> _Summary:
    """Return the averages of a run as numbers by policy and measure."""
    table = TABLES.summarise(study, 0, equilibria)
    averages = table.to_numpy(dtype=np.float64).tolist()
    columns = [str(name) for name in table.columns]
    return {
        str(policy): dict(zip(columns, row, strict=True)) for policy, row in zip(table.index, averages, strict=True)
    }


def _facts(study: TablesStudy, safe_harbor: Equilibrium) -> list[Entry]:
    age, race, sex, zip_code = study.lattice.hierarchies
    greatest_loss = sum(math.log(h.attribute.size) for h in (age, race, zip_code))
    intensity = float(np.average(safe_harbor.generalization_intensity, weights=study.released))
    return [
        Entry("Data", "records", 32_561, study.n_records, tolerance=0.0, form="{:,.0f}",
              note="every row of adult.data; complete rows would be 30,162"),
        Entry("Data", "ages, races, sexes, ZIP codes", "121, 5, 2, 628",
              ", ".join(str(h.attribute.size) for h in (age, race, sex, zip_code)),
              holds=[h.attribute.size for h in (age, race, sex, zip_code)] == [121, 5, 2, 628]),
        Entry("Data", "strategies (6 x 4 x 2 x 6 levels)", 288, study.lattice.size, tolerance=0.0, form="{:,.0f}"),
        Entry("Eq. 2", "greatest information loss, ln(121 x 5 x 628)", 12.8478, greatest_loss, tolerance=0.00005,
              form="{:.4f}", note="not printed; sex must carry no weight for the payoffs printed"),
        Entry("Table 7", "generalization intensity of Safe Harbor, (2 + 3 x 43/32561)/14", 0.1431, intensity,
              tolerance=0.00005, form="{:.4f}", note="the 43 records aged 90 or more go to age group 90-120"),
    ]  # fmt: skip


def _figure_5(study: TablesStudy) -> list[Entry]:
    table = strategy_table(study, {"age": "48", "race": "API", "sex": "Female", "zip": "38363"})
    rows = table.to_dict("records")
    best = rows[int(table["publisher_payoff"].to_numpy().argmax())]
    shared = ", ".join(best[name] for name in study.lattice.domain.names)
    harbor = next(row for row in rows if row["strategy"] == "0,0,0,2")
    where = "Fig. 5"
    note = "depends on the group of the record in Tennessee, which the approximate population does not fix"
    return [
        Entry(where, "best strategy of (48, Asian, Female, 38363)", "(48, *, *, 38363)", f"({shared})",
              holds=shared == "48, *, *, 38363", note="3 of 4 draws of the population give it; see its recipe"),
        Entry(where, "its generalization intensity", 0.29, best["generalization_intensity"], tolerance=0.005,
              form="{:.2f}"),
        Entry(where, "its payoff for the publisher ($)", 1049.70, best["publisher_payoff"], tolerance=0.05,
              note="exactly 1,049.68 for any record shared as (age, *, *, ZIP); printed rounded"),
        Entry(where, "its success probability", 0.0104, best["success_probability"], tolerance=0.002, form="{:.4f}",
              note="1/96 against 1/86; 79.6 people are expected, with a standard deviation of 8.5 over draws"),
        Entry(where, "success probability under Safe Harbor", 0.1429, harbor["success_probability"],
              tolerance=0.03, form="{:.4f}", note=note),
        Entry(where, "publisher's payoff under Safe Harbor ($)", 776.30, harbor["publisher_payoff"],
              tolerance=0.003 * 776.30, note=note),
        Entry(where, "adversary's payoff under Safe Harbor ($)", 38.86, harbor["adversary_payoff"], tolerance=9.0,
              note=note),
    ]  # fmt: skip


def _table_7(summary: _Summary) -> list[Entry]:
    entries = []
    for policy, printed in _TABLE_7.items():
        for measure, value in printed.items():
            is_payoff = measure in (PUBLISHER_PAYOFF.column, ADVERSARY_PAYOFF.column)
            name = f"{_WORDS[measure]} ($)" if is_payoff else _WORDS[measure]
            form = PUBLISHER_PAYOFF.format if is_payoff else "{:.4f}"
            tolerance = 0.003 * value if measure == "publisher_payoff" else _TOLERANCES[measure]
            note = _EXCHANGED if policy in ("safe-harbor", "basic") and measure.startswith("risk") else ""
            if policy == "safe-harbor" and measure == "publisher_payoff":
                note = "the prose says 869.84, which is the same run with sex counted in the loss"
            ours = summary[policy][measure]
            entries.append(
                Entry("Table 7", f"{policy}: {name}", value, ours, tolerance=tolerance, form=form, note=note)
            )
    return entries


def _sh_friendly_gain(summary: _Summary) -> list[Entry]:
    """How much the SH-Friendly game improves on Safe Harbor, as is and if the first race merger costs nothing."""
    gain = summary["sh-friendly"]["publisher_payoff"] - summary["safe-harbor"]["publisher_payoff"]
    study = build_study(load_scenario("wan2015", {"attributes.race.hierarchy.costless_levels": [1]}))
    free = _measures(study, equilibria_of(play(study)))
    free_gain = free["sh-friendly"]["publisher_payoff"] - free["safe-harbor"]["publisher_payoff"]
    what = "sh-friendly minus safe-harbor: publisher's payoff ($)"
    costless = "if merging AIAN and Other is not charged (costless_levels = [1])"
    attacked = free["sh-friendly"]["share_attacked"]
    intensity = free["sh-friendly"]["generalization_intensity"]
    return [
        Entry("Table 7", what, 0.45, gain, tolerance=0.10, note="cause unknown; see the next rows"),
        Entry("Table 7", what, 0.45, free_gain, tolerance=0.10, note=costless),
        Entry("Table 7", f"sh-friendly: {SHARE_ATTACKED.in_text}", 0.0091, attacked, tolerance=0.0025, form="{:.4f}",
              note=costless),
        Entry("Table 7", f"sh-friendly: {GENERALIZATION_INTENSITY.in_text}", 0.1453, intensity, tolerance=0.001,
              form="{:.4f}", note=costless),
    ]  # fmt: skip


def _table_8(study: TablesStudy, summary: _Summary) -> list[Entry]:
    game = study.truth
    found, best = evaluate(game, lattice_search(game)), evaluate(game, branch_and_bound(game))
    search = search_deviation(found, best, game.tie(), study.released)
    where = "Table 8"
    return [
        Entry(where, "LBS: strategies worked out per record", 3.9, search["evaluated"], tolerance=0.15, form="{:.2f}"),
        Entry(where, "LBS: mean absolute difference of the publisher's payoff ($)", 0.29,
              search["publisher_payoff_difference"], tolerance=0.15, form="{:.2f}",
              note="0.31 to 0.42 over eight draws of ZIP codes"),
        Entry(where, "LBS: share of records with the optimal payoff", 0.9947, search["share_optimal"],
              tolerance=0.0025, form="{:.4f}"),
        Entry(where, "LBS: publisher's payoff ($)", 1195.2,
              summary["basic"]["publisher_payoff"] - search["publisher_payoff_difference"],
              tolerance=0.003 * 1195.2, form="{:,.1f}"),
        Entry(where, "BIS: strategies searched", 704, study.lattice.size, tolerance=0.0, form="{:,.0f}",
              note="impossible in print: the lattice has 288"),
        Entry(where, "LBS: mean absolute difference of the adversary's payoff ($)", 2.64,
              search["adversary_payoff_difference"], tolerance=0.3, form="{:.2f}",
              note="inconsistent in print: with .9947 of the records solved alike it cannot exceed the payoff itself"),
    ]  # fmt: skip


def _sensitivity(study: TablesStudy) -> list[Entry]:
    benefit = np.linspace(10, 400, 40)
    cost = np.linspace(0, 300, 151)
    basic = undominated_options(study.lattice, study.truth.linker)
    harbor = fixed_options(study.lattice, study.truth.linker, study.safe_harbor_strategies)

    def attacked_less(points: ParameterPoints) -> NDArray[np.bool_]:
        mine, rule = (_adversary_payoff(study, options, points) for options in (basic, harbor))
        return mine <= rule + 1e-9

    benefit_limit = _end_of_run(attacked_less(_points(study, benefit=benefit)), benefit)
    cost_limit = _end_of_run(~attacked_less(_points(study, cost=cost)), cost)
    benefits, losses = np.linspace(50, 1500, 30), np.linspace(200, 25_000, 125)
    # One row per benefit, one column per loss.
    rows, columns = np.meshgrid(benefits, losses, indexing="ij")
    maps = average_outcomes(basic, study.released, _points(study, benefit=rows.ravel(), loss=columns.ravel()))
    attacked = maps.share_attacked.reshape(rows.shape)
    intensity = maps.generalization_intensity.reshape(rows.shape)
    seldom = _end_of_run(np.all(attacked < 0.30, axis=0), losses)
    seldom_benefit = _end_of_run(np.all(attacked < 0.30, axis=1), benefits)
    milder = _end_of_run(np.all(intensity < 0.1431, axis=0), losses)
    milder_benefit = _end_of_run(np.all(intensity < 0.1431, axis=1)[::-1], benefits[::-1])
    at_1200 = attacked[benefits == 1200, losses == 1000].item()
    where = "Sensitivity"
    return [
        Entry(where, "attacks on fewer than 30 % of records for all V up to 1,500", "L <= 1,000", f"L <= {seldom:,.0f}",
              holds=seldom >= 1000, note=f"{at_1200:.1%} are attacked at V = 1,200, L = 1,000"),
        Entry(where, "attacks on fewer than 30 % of records whatever L up to 25,000", "V <= 100",
              f"V <= {seldom_benefit:,.0f}", holds=seldom_benefit >= 100),
        Entry(where, "generalization below Safe Harbor's .1431 whatever V", "L <= 4,200", f"L <= {milder:,.0f}",
              holds=milder >= 4200, note="V from 50 to 1,500"),
        Entry(where, "generalization below Safe Harbor's .1431 whatever L", "V >= 100",
              "none" if math.isnan(milder_benefit) else f"V >= {milder_benefit:,.0f}",
              holds=milder_benefit <= 100, note="L up to 25,000"),
        Entry(where, "Basic's adversary payoff below Safe Harbor's", "V < 200", f"V <= {benefit_limit:,.0f}",
              holds=benefit_limit >= 190),
        Entry(where, "Basic's adversary payoff below Safe Harbor's", "c > 90", f"c > {cost_limit:,.0f}",
              holds=cost_limit <= 90,
              note="98 to 130 over draws of the population"),
    ]  # fmt: skip


def _points(study: TablesStudy, **changes: NDArray[np.float64]) -> ParameterPoints:
    """Return points at which some prices differ from the study's; the gain goes with the loss."""
    base = study.scenario.economics
    loss = changes.get("loss", base.loss)
    return ParameterPoints.broadcast(changes.get("benefit", base.benefit), loss, loss, changes.get("cost", base.cost))


def _adversary_payoff(study: TablesStudy, options: Options, points: ParameterPoints) -> NDArray[np.float64]:
    return average_outcomes(options, study.released, points).adversary_payoff


def _end_of_run(holds: NDArray[np.bool_], values: NDArray[np.float64]) -> float:
    """Return the last value of the unbroken run of truth that begins with the first; NaN if there is none."""
    run = len(holds) if holds.all() else int(np.argmin(holds))
    return float(values[run - 1]) if run else float("nan")
