"""How each bundled scenario is shown in the gallery: made how small, with which figure, finding what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure
from pandas import Series

from reidsim.kinds.tables.figures.differences import payoff_difference_curves
from reidsim.reports.gallery import sweep_findings

# Of `RunResult`, or of `StressResult` where a scenario is stressed.
Result = Any


@dataclass(frozen=True)
class Exhibit:
    """How a scenario is shown.

    Parameters
    ----------
    figure : str
        Name of the figure, without ending; empty for the first there is.
    finding : callable, optional
        Makes two sentences of a result, with its numbers.
    reductions : mapping
        What is replaced so that the run is short, by key path.
    command : {"run", "stress"}
        What is done with the scenario.
    draw : callable, optional
        Draws the figure, where it is none of the result's own.
    """

    figure: str = ""
    finding: Callable[[Result], str] | None = None
    reductions: Mapping[str, object] = field(default_factory=dict)
    command: str = "run"
    draw: Callable[[Result], Figure] | None = None


def _wan2015(result: Result) -> str:
    pays, attacked = result.summary["publisher_payoff"], result.summary["share_attacked"]
    return (
        f"A publisher who never lets an attack pay keeps {pays['no-attack'] / pays['basic']:.1%} of what the best "
        f"reply is worth, {pays['no-attack'] / pays['safe-harbor'] - 1:.0%} more than under Safe Harbor. Under Safe "
        f"Harbor an attack still pays for {attacked['safe-harbor']:.1%} of the records."
    )


def _xia2015(result: Result) -> str:
    summary, content = result.summary, result.manifest["content"]
    return (
        f"Shared as they are, {summary['share_attacked']['no-protection']:.0%} of the records are worth buying the "
        f"voter list for, and each of them is re-identified with probability "
        f"{summary['risk_if_attacked']['no-protection']:.2f}, the share of people who are on the list. Generalized "
        f"by the best reply none is, at {1 - summary['utility']['basic']:.1%} of the utility and for a benefit of "
        f"{content['economics']['benefit']:,} per record."
    )


def _prasser2017(result: Result) -> str:
    pays, utility = result.summary["publisher_payoff"], result.summary["utility"]
    return (
        f"If all records must be treated alike, ruling out attacks costs {1 - utility['no-attack']:.0%} of the "
        f"utility; if each has its own form, {1 - utility['record-level-no-attack']:.0%}. Safe Harbor pays "
        f"{pays['safe-harbor']:,.0f} per record, between the best reply for the whole table ({pays['basic']:,.0f}) and "
        f"the one without attacks ({pays['no-attack']:,.0f})."
    )


def _arx_example(result: Result) -> str:
    summary = result.summary
    return (
        f"With nine quasi-identifiers most records have few or none like them, and at these prices the publisher "
        f"shares the table as it is and accepts a risk of {summary['risk']['basic']:.2f}. Ruling out attacks keeps "
        f"{summary['utility']['no-attack']:.0%} of the utility and leaves out "
        f"{summary['share_suppressed']['no-attack']:.0%} of the records."
    )


def _wan2021(result: Result) -> str:
    pays, risk = result.summary["publisher_payoff"], result.summary["risk"]
    return (
        f"Subjects who choose what to mask get {pays['masking']:.2f} of 100, against {pays['opt-in']:.2f} if they can "
        f"only share everything or nothing. Ruling out attacks costs them "
        f"{pays['masking'] - pays['no-attack-masking']:.2f}; without protection "
        f"{risk['no-protection']:.0%} of them would be re-identified."
    )


def _wan2021_case(result: Result) -> str:
    pays, utility = result.summary["publisher_payoff"], result.summary["utility"]
    return (
        f"Sharing all 47 attributes would leave the man {pays['no-protection']:.2f} of 100, sharing age and state "
        f"alone {pays['demographics-only']:.2f}. Masking the right ones keeps {utility['masking']:.0%} of the utility "
        "and makes an attack not worth its price."
    )


def _xia2021(result: Result) -> str:
    runs = result.runs[result.runs["records"] == result.runs["records"].min()]
    risk = runs.groupby("knowledge")["overall_risk"].mean()
    return (
        f"An adversary who knew everything would re-identify a person of {runs['records'].iloc[0]:,} with probability "
        f"{risk['worst-case']:.2f}; voter lists allow {risk['voter-registration']:.2f}, Twitter {risk['twitter']:.3f}. "
        "Worst-case measures overstate what these sources allow, and the more records are released, the smaller all "
        "three become."
    )


def _lines(result: Result) -> str:
    pays = _masked(result, "economics.loss", {})
    first, last = pays.index[0], pays.index[-1]
    return (
        f"As the loss goes from {first:g} to {last:g}, what subjects get from masking goes from {pays[first]:.2f} to "
        f"{pays[last]:.2f}. The full scenario varies one key after the other, with 20 draws at every value."
    )


def _masked(result: Result, key: str, others: Mapping[str, float]) -> Series:
    """Return what subjects who mask get along a key, where other keys have some values."""
    runs = result.runs[result.runs["policy"] == "masking"]
    for other, value in others.items():
        runs = runs[runs[other] == value]
    pays: Series = runs.groupby(key)["publisher_payoff"].mean()
    return pays


def _market(result: Result) -> str:
    pays, rounds = result.summary["publisher_payoff"], result.analysis.tables()["rounds"]
    basic = rounds[rounds["policy"] == "basic"].set_index("round")
    first, second = basic.index[:2]
    return (
        f"A publisher who accepts attacks is ahead for one round and then loses the people who hear of them: taking "
        f"part falls from {basic['participation'][first]:.0%} to {basic['participation'][second]:.0%}. Over all "
        f"rounds, never letting an attack pay brings {pays['no-attack']:,.0f} per record, "
        f"accepting them {pays['basic']:,.0f}."
    )


def _voter_vs_twitter(result: Result) -> str:
    pays, attacked = result.summary["publisher_payoff"], result.summary["share_attacked"]
    return (
        f"An attacker who has either the voter list or Twitter attacks {attacked['no-protection']:.0%} of the records "
        f"shared as they are. Sharing so that neither attacks costs "
        f"{pays['basic'] - pays['no-attack']:,.2f} per record against the best reply, Safe Harbor "
        f"{pays['basic'] - pays['safe-harbor']:,.0f}, and under Safe Harbor {attacked['safe-harbor']:.1%} are attacked."
    )


def _against_safe_harbor(result: Result) -> Figure:
    return payoff_difference_curves(result.records, "safe-harbor")


def _sequential_publisher(result: Result) -> str:
    summary, rounds = result.summary, result.analysis.tables()["rounds"]
    open_ = rounds[rounds["policy"] == "no-protection"]
    attacked = int((open_["attacks"] > 0).sum())
    return (
        f"Against records shared as they are, an adversary who is caught and excluded attacks in {attacked} of "
        f"{len(open_)} rounds, {open_['share_attacked'].max():.0%} of the records each time. Against the best reply it "
        f"never attacks, at {1 - summary['utility']['basic']:.1%} of the utility."
    )


def _genealogy_market(result: Result) -> str:
    pays, rounds = result.summary["publisher_payoff"], result.analysis.tables()["rounds"]
    risk = rounds[rounds["policy"] == "no-protection"]["risk"]
    return (
        f"Subjects who mask get {pays['masking']:.2f} of 100 against two adversaries, those who can only opt in or out "
        f"{pays['opt-in']:.2f}. One adversary buys a genealogy in the first round; without protection the share of "
        f"subjects re-identified then rises from {risk.iloc[0]:.0%} to {risk.iloc[-1]:.0%}."
    )


def _one_world(result: Result) -> str:
    pays, through = result.summary["publisher_payoff"], result.analysis.tables()["through"]
    breaches = through.groupby(["policy", "adversary", "through"], observed=True)["breaches"].sum()
    total = breaches.groupby("policy").sum()
    return (
        f"Over ten rounds {total['no-protection']:.0f} re-identifications are expected if records are shared as they "
        f"are, {breaches['no-protection', 'marketer', 'voter-list']:.0f} of them by the marketer through the "
        f"voter list and {breaches['no-protection', 'broker', 'genealogy and voter-list']:.0f} by the broker through "
        f"the genealogy it buys. Against subjects who mask there are {total['masking']:.0f}, all by the broker, who "
        f"remembers what was out before it had the genealogy; they get {pays['masking']:.0f} of 100, against "
        f"{pays['no-protection']:.0f} without protection."
    )


def _stress(result: Result) -> str:
    robust = result.tables["robustness"].set_index("policy")
    mean, regret = robust["mean_payoff"], robust["largest_regret"]
    return (
        f"With benefit, fines and costs uncertain over wide ranges, `basic` is at most {regret['basic']:,.2f} per "
        f"record below the best policy at any point, `no-attack` {regret['no-attack']:,.2f}, `safe-harbor` "
        f"{regret['safe-harbor']:,.2f}. Forms picked record by record to bound regret lower it to "
        f"{regret['robust-minimax-regret']:,.2f}, with a mean payoff of {mean['robust-minimax-regret']:,.0f}."
    )


def _masking_beliefs(result: Result) -> str:
    curves = result.tables["belief_curves"]
    of = curves[curves["policy"] == "masking"].set_index(["true", "believed"])["publisher_payoff"]
    return (
        f"Subjects who plan for attacks that cost 30 lose {of[10.0, 10.0] - of[10.0, 30.0]:.2f} of 100 if they really "
        f"cost 10. Those who plan for 10 lose {of[30.0, 30.0] - of[30.0, 10.0]:.2f} if they cost 30."
    )


def _robustness(result: Result) -> str:
    pays = _masked(result, "economics.cost", {"beliefs.cost": 10.0})
    return (
        f"Subjects who plan for attacks that cost 10 get {pays[10.0]:.2f} if they do, {pays[0.0]:.2f} if attacks "
        f"are free and {pays[40.0]:.2f} if they cost 40. The full scenario also errs about databases, with 20 draws "
        "at every value."
    )


_SMALL_GENEALOGY: Mapping[str, object] = {
    "population.recipe": "ystr-genealogy-small",
    "targets.size": 100,
    "resources.registry.size": 2000,
    "resources.genealogy.size": 2000,
}
# Every scenario that needs more than its own name. What is replaced is shown on the page.
EXHIBITS: Mapping[str, Exhibit] = {
    "wan2015": Exhibit(
        "payoff-differences",
        _wan2015,
    ),
    "xia2015": Exhibit("risk-by-group-size", _xia2015, {"figures.sequential": {"largest_group": 60}}),
    "prasser2017": Exhibit("payout-front", _prasser2017),
    "arx-example": Exhibit("payout-front", _arx_example, {"publisher.policies": ["basic", "no-attack"]}),
    "wan2021": Exhibit("effectiveness", _wan2021, {"replications": 1}),
    "wan2021-case": Exhibit(
        "effectiveness",
        _wan2021_case,
        {"subjects.policies": ["no-protection", "demographics-only", "opt-in", "masking"], "figures": {}},
    ),
    "wan2021-robustness": Exhibit(
        "lines-payoff",
        _robustness,
        {
            **_SMALL_GENEALOGY,
            "replications": 2,
            "beliefs.sizes": {},
            "sweep": {"values": {"beliefs.cost": [10.0], "economics.cost": [0.0, 10.0, 20.0, 30.0, 40.0]}},
        },
    ),
    "wan2021-sensitivity": Exhibit(
        "lines-payoff",
        _lines,
        {
            **_SMALL_GENEALOGY,
            "replications": 2,
            "sweep": {"values": {"economics.loss": [0.0, 100.0, 200.0, 300.0, 400.0]}},
        },
    ),
    "xia2021": Exhibit(
        "risk-maps",
        _xia2021,
        {"release.sizes": [1000, 20000], "release.samples": 1, "figures": {}},
    ),
    "wan2021-stress": Exhibit(
        "beliefs-1",
        _masking_beliefs,
        {
            **_SMALL_GENEALOGY,
            "replications": 1,
            "stress": {
                "outputs": ["publisher_payoff"],
                "beliefs": [{"key": "economics.cost", "true": [0.0, 10.0, 20.0, 30.0, 40.0], "believed": [10.0, 30.0]}],
            },
        },
        "stress",
    ),
    "market": Exhibit("", _market),
    # One round makes no curves.
    "voter-vs-twitter": Exhibit("payoff-differences", _voter_vs_twitter, draw=_against_safe_harbor),
    "sequential-publisher": Exhibit("", _sequential_publisher),
    "genealogy-market": Exhibit("", _genealogy_market),
    "one-world": Exhibit("through", _one_world),
    "wan2015-stress": Exhibit(
        "regrets",
        _stress,
        {"uncertainty.samples": 32, "stress": {"robustness": {"quantile": 0.1}}},
        "stress",
    ),
    "wan2015-sweep": Exhibit(
        "sweep-lines",
        sweep_findings.prices_in_turn,
        {
            "publisher.policies": ["safe-harbor", "basic", "no-attack"],
            "sweep.values": {
                "economics.benefit": {"from": 50, "to": 2000, "points": 7},
                "economics.loss": {"from": 50, "to": 2000, "points": 7},
                "economics.cost": {"from": 0, "to": 200, "points": 11},
            },
        },
    ),
    "wan2015-map": Exhibit(
        "sweep-map",
        sweep_findings.benefit_and_loss,
        {
            "sweep.values": {
                "economics.benefit": {"from": 30, "to": 1500, "points": 11},
                "economics.loss": {"from": 0, "to": 25000, "points": 11},
            }
        },
    ),
    "wan2015-map-records": Exhibit(
        "sweep-map-1",
        sweep_findings.two_records,
        {
            "sweep.values": {
                "economics.benefit": {"from": 30, "to": 1500, "points": 15},
                "economics.loss": {"from": 0, "to": 25000, "points": 15},
                "release.path": [
                    "bundled:wan2015-map-records/black-man-19.csv",
                    "bundled:wan2015-map-records/white-woman-62.csv",
                ],
            }
        },
    ),
    "wan2015-search": Exhibit(
        "search-deviation",
        sweep_findings.search_against_optimum,
        {
            "sweep.values": {
                "economics.benefit": {"from": 50, "to": 2000, "points": 14},
                "economics.loss": {"from": 50, "to": 2000, "points": 14},
            }
        },
    ),
    "prasser2017-sweep": Exhibit(
        "payout-curves-loss",
        sweep_findings.payouts,
        {
            "sweep.values": {
                "economics.loss": {"from": 0, "to": 2000, "points": 9},
                "beliefs.risk": ["prosecutor", "journalist"],
            }
        },
    ),
    "prasser2017-runtimes": Exhibit(
        "full-domain-runtimes",
        sweep_findings.nodes_left_out,
        {"sweep.values": {"economics.loss": {"from": 0, "to": 2000, "points": 5}, "publisher.prune": [True, False]}},
    ),
    "xia2015-sweep": Exhibit(
        "attack-thresholds",
        sweep_findings.deterrents,
        {
            "sweep.values": {
                "adversary.sequential.max_penalties": [100, 1, 100],
                "adversary.sequential.detection_slope": [0.0, 0.0, 0.18],
                "adversary.sequential.access_cost": {"from": 0, "to": 500, "points": 11},
                "economics.cost": {"from": 0, "to": 100, "points": 11},
                "adversary.sequential.penalty": {"from": 0, "to": 50000, "points": 11},
                "adversary.sequential.detection_intercept": {"from": -6.9068, "to": -2.1972, "points": 11},
            }
        },
    ),
}
