"""The answer in plain sentences: between what there is to choose, what each choice costs, and whom it exposes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from reidsim.drafts.scenario_text import OF_PAPER
from reidsim.engine.switch.break_even import BreakEven
from reidsim.reports.over_rounds import distinct_people, guarantees_told
from reidsim.reports.page.answers_under_uncertainty import uncertain_answer
from reidsim.reports.page.blocks import Block, Bullets, Cell, Signature, Table, paragraph
from reidsim.reports.page.break_even import best_losses, break_even_text
from reidsim.reports.page.columns import column_blocks
from reidsim.reports.page.exposure import Exposure, exposure_of, people_text
from reidsim.reports.page.release_audit import declared_columns, read_back_table
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.limit import odds
from reidsim.reports.shared.recommended import disagreement, recommendation
from reidsim.reports.shared.releases import Releases
from reidsim.reports.verdict import assessment_verdict, least_exposed, same_payoff
from reidsim.scenarios.asked import GAIN, LOSS, gain_goes_with_loss
from reidsim.wording import Code, Inline, codes, joined, number_text

_POINTS_SHOWN = 30
SIGNED = ("Name", "Date", "Signature")


class Extras(NamedTuple):
    """Results that are computed for a report from the files of a run.

    Attributes
    ----------
    releases : Releases or None
        None where the records of the run are from no file, or not at hand.
    break_even : BreakEven or None
    samples : bool
        Whether to show values of sample rows.
    """

    releases: Releases | None = None
    break_even: BreakEven | None = None
    samples: bool = True


NO_EXTRAS = Extras()


def answer_blocks(run: StoredRun, extras: Extras = NO_EXTRAS) -> Iterator[Block]:
    """Yield the answer of a run.

    Raises
    ------
    InputError
        If the table of runs cannot be read.
    """
    runs = run.runs
    if "runs" not in run.tables:
        yield from uncertain_answer(run)
    elif runs.empty:
        yield paragraph("No run finished, so there is no answer.", kind="warning")
    elif {"policy", "publisher_payoff", "share_attacked", "risk"} <= set(runs.columns):
        yield from _policies(run, extras)
    elif {"knowledge", "overall_risk"} <= set(runs.columns):
        cohorts = run.table("cohorts") if "cohorts" in run.tables else None
        yield paragraph(assessment_verdict(runs, cohorts=cohorts), kind="answer")
    else:
        yield paragraph("This kind of run has no policies to compare; its tables and figures follow.")


def mean_payoffs(run: StoredRun) -> dict[str, float]:
    """Return the publisher's payoff of the policies that are compared, the best first."""
    payoffs = _ordered(_means(run), run)["publisher_payoff"]
    return {str(name): float(pays) for name, pays in payoffs.items()}


def _means(run: StoredRun) -> pd.DataFrame:
    columns = [name for name in ("publisher_payoff", "share_attacked", "risk", "utility") if name in run.runs]
    means = run.runs.groupby("policy", sort=False, observed=True)[columns].mean()
    means.index = means.index.astype(str)
    return means


def _ordered(means: pd.DataFrame, run: StoredRun) -> pd.DataFrame:
    """Return the means of the policies that are compared, the best payoff first."""
    apart = [not run.compares(name) for name in means.index]
    compared = means if all(apart) else means[~np.array(apart)]
    return compared.sort_values("publisher_payoff", ascending=False, kind="stable")


def _policies(run: StoredRun, extras: Extras) -> Iterator[Block]:
    means = _means(run)
    order = _ordered(means, run)
    exposures = {str(name): exposure_of(run, str(name), float(risk)) for name, risk in order["risk"].items()}
    n_points = len(run.runs["point"].unique()) if "point" in run.runs else 1
    releases, payoffs = extras.releases, mean_payoffs(run)
    if releases is not None:
        yield paragraph(*recommendation(releases, payoffs, run.units[0]), kind="answer")
    plain = "answer" if releases is None else ""
    yield paragraph(*_choice(run, order, exposures, n_points, releases), kind=plain)
    if "broken_guarantees" in run.tables:
        payoff = f"{'subject' if run.decides == 'subject' else 'publisher'}'s payoff"
        yield paragraph(guarantees_told(run.table("broken_guarantees"), payoff=payoff))
    if "rounds" in run.tables and n_points == 1:
        distinct = distinct_people(run.table("rounds"), [str(name) for name in order.index])
        yield from [paragraph(distinct)] if distinct else []
    yield _comparison(run, order, exposures, extras.break_even, n_points)
    if releases is not None:
        yield read_back_table(releases, releases.ranked(payoffs))
    if extras.break_even is not None:
        yield paragraph(*break_even_text(extras.break_even, run.units[0]))
    yield from _prices(run)
    if releases is not None:
        signed = releases.by_policy[releases.to_sign(payoffs)]
        yield from declared_columns(signed)
        yield Signature(SIGNED)
        yield from column_blocks(signed, samples=extras.samples)
    words = {str(name): run.policies[name].description for name in means.index if name in run.policies}
    if words:
        yield Bullets(tuple((Code(name), f": {meaning}.") for name, meaning in words.items()))
    spread = _paired(run.runs, order) if n_points == 1 else ()
    if spread:
        yield paragraph(*spread)
    for name, row in means[~means.index.isin(order.index)].iterrows():
        yield paragraph(
            Code(str(name)),
            f" is not compared: its {row['publisher_payoff']:,.2f} per record assumes an adversary who infers nothing.",
        )
    yield paragraph(
        "All of this holds only for this scenario's adversary, payoff parameters and quasi-identifiers"
        + (
            ": a risk of 0 means that no attack pays this adversary, not that no record can be re-identified."
            if (means["risk"] == 0).any()
            else "; it does not cover an adversary who attacks at any cost or knows more."
        )
    )
    yield from _points(run)
    if releases is None:
        yield Signature(SIGNED)


def _choice(
    run: StoredRun,
    order: pd.DataFrame,
    exposures: Mapping[str, Exposure],
    n_points: int,
    releases: Releases | None,
) -> tuple[Inline, ...]:
    """Say between what there is to choose: the policy that exposes fewest, and the one that pays most."""
    who = "subjects" if run.decides == "subject" else "publisher"
    per = f"per {run.units[0]}" + (f", on average over {n_points:,} points" if n_points > 1 else "")
    names = list(exposures)
    payoffs = dict(zip(names, order["publisher_payoff"].tolist(), strict=True))
    most = payoffs[names[0]]
    tied = [name for name in names if same_payoff(payoffs[name], most)]
    safest = least_exposed(order)
    exposed = {
        name: _exposes(run, name, attacked, risk, exposures[name], releases)
        for name, attacked, risk in zip(names, order["share_attacked"].tolist(), order["risk"].tolist(), strict=True)
    }
    if len(names) == 1:
        return ("One policy was played: ", Code(safest), f" pays the {who} {most:,.2f} {per} and {exposed[safest]}.")
    start: list[Inline] = [f"The choice is between {len(names)} policies. ", Code(safest), f" {exposed[safest]}"]
    least = "" if order["share_attacked"][safest] == 0 else ", the least of all,"
    if safest in tied:
        others = _as_much(name for name in tied if name != safest)
        return (*start, f"{least} and pays the {who} most, {most:,.2f} {per}", *others, ".")
    ahead = _difference(most, payoffs[safest])
    return (
        *start, f"{least} and pays the {who} {payoffs[safest]:,.2f} {per}. ", Code(tied[0]),
        f" pays most, {most:,.2f}, which is {ahead} more", *_as_much(tied[1:]), f", and {exposed[tied[0]]}. ",
        "Whether that is worth the exposure is not for a model to decide.",
    )  # fmt: skip


def _as_much(names: Iterable[str]) -> list[Inline]:
    """Say which other policies pay the same."""
    named = codes(names, " and ")
    return [", as much as ", *named] if named else []


def _exposes(
    run: StoredRun, policy: str, attacked: float, risk: float, exposure: Exposure, releases: Releases | None
) -> str:
    """Return the people whom a policy exposes, after its name."""
    if attacked == 0:
        if releases is None and "release_file" in run.manifest:
            return "leaves no attack that pays this adversary, but its rows were not read back,"
        if releases is not None and not releases.is_safe(policy):
            return f"leaves no attack that pays this adversary, but {disagreement(releases, policy)},"
        return "exposes nobody, because no attack pays this adversary,"
    each = " in a round" if run.rounds > 1 else ""
    share = f"{attacked:.2%}" if attacked >= 0.0001 else "less than 0.01%"
    told = f"exposes {share} of the {run.units[1]}{each} to an attack"
    if exposure.expected is None:
        return f"{told}, at a re-identification risk of {risk:.4f}"
    people = f"about {people_text(exposure.expected)} of {run.n_counted:,} are expected to be re-identified"
    people += f" in each round, on average over {run.rounds:,}" if run.rounds > 1 else ""
    high = "" if exposure.high is None else f", and no more than {exposure.high:,} in 95 of 100 cases"
    return f"{told}: {people}{high}"


def _comparison(
    run: StoredRun,
    order: pd.DataFrame,
    exposures: Mapping[str, Exposure],
    even: BreakEven | None,
    n_points: int,
) -> Block:
    """Return the table of the decision: whom each policy exposes, what it keeps and costs, and where it pays most."""
    most = float(order["publisher_payoff"].iloc[0])
    rows: list[list[Cell]] = []
    for name, exposure in exposures.items():
        pays, risk = float(order["publisher_payoff"][name]), float(order["risk"][name])
        row: list[Cell] = [
            Code(name),
            f"{risk:.4f}" if exposure.expected is None else people_text(exposure.expected),
            "-" if exposure.high is None else f"{exposure.high:,}",
            "-" if exposure.highest is None else odds(exposure.highest),
            f"{order['utility'][name]:.1%}" if "utility" in order else "-",
            f"{pays:,.2f}",
            "-" if same_payoff(pays, most) else _difference(most, pays),
        ]
        rows.append(row if even is None else [*row, best_losses(even, name)])
    one = run.units[0]
    expected = "Re-identification risk" if run.n_counted is None else f"Re-identified of {run.n_counted:,}, expected"
    header: list[Inline] = [
        "Policy", expected, "95th percentile", f"Highest risk of a {one}, if attacked", "Utility kept",
        f"Payoff per {one}", "Payoff given up",
    ]  # fmt: skip
    if even is not None:
        header.append("Best choice when a re-identification costs")
    caption = "The decision: whom each policy exposes, what it keeps, and what would change the choice"
    if any(exposure.high is not None for exposure in exposures.values()):
        caption += "; 95th percentile of the number re-identified, if attacks succeed independently"
    if run.rounds > 1 or n_points > 1:
        caption += "; means over " + " and ".join(
            f"{number:,} {what}" for number, what in ((run.rounds, "rounds"), (n_points, "points")) if number > 1
        )
    return Table(header, rows, caption)


def _prices(run: StoredRun) -> Iterator[Block]:
    """Yield the prices, marked where they are those of the paper, which drafts take as they are."""
    economics = run.content.get("economics")
    if not isinstance(economics, Mapping) or not {"benefit", "loss", "cost"} <= set(economics):
        return
    gain = economics.get("gain", economics["loss"])
    named = {"benefit": economics["benefit"], "loss": economics["loss"], "gain": gain, "cost": economics["cost"]}
    of_paper = OF_PAPER | {"gain": OF_PAPER["loss"]}
    if named == of_paper:
        text = ", ".join(f"{name} {number_text(value)}" for name, value in named.items())
        yield paragraph(
            f"The payoff parameters ({text}, in dollars per {run.units[0]}) are defaults from Wan et al. 2015, "
            "PLoS ONE 10(3): e0120592. The choice above depends on them: replace them with your own.",
            kind="warning",
        )
    else:
        text = ", ".join(
            f"{name} {number_text(value)}{' (default, from Wan et al. 2015)' if value == of_paper[name] else ''}"
            for name, value in named.items()
        )
        yield paragraph(f"Payoff parameters per {run.units[0]}, from the scenario: {text}.")


def _paired(runs: pd.DataFrame, order: pd.DataFrame) -> tuple[Inline, ...]:
    """Say how sure the lead of the best policy is, from differences within replications."""
    if len(order) < 2 or not {"point", "replication"} <= set(runs.columns):
        return ()
    first, second = order.index[:2]
    wide = runs.pivot_table(index=["point", "replication"], columns="policy", values="publisher_payoff", observed=True)
    difference = (wide[first] - wide[second]).dropna().to_numpy(dtype=np.float64)
    if len(difference) < 2:
        return ()
    mean, error = float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))
    clear = "" if abs(mean) > 2 * error else " The difference is not clear."
    return (
        "Over ", f"{len(difference):,} replications the difference between ", Code(str(first)), " and ",
        Code(str(second)), f" is {_amount(mean)} with a standard error of {_amount(error)}.{clear}",
    )  # fmt: skip


def _points(run: StoredRun) -> Iterator[Block]:
    """Say which policy pays best where, if values of the scenario were varied."""
    runs = run.runs
    if "point" not in runs or runs["point"].nunique() < 2:
        return
    compared = runs[[run.compares(str(name)) for name in runs["policy"]]]
    grouped = compared.groupby(["point", "policy"], sort=False, observed=True)[["publisher_payoff", "risk"]].mean()
    means, risks = grouped["publisher_payoff"].unstack(), grouped["risk"].unstack()
    best = means.idxmax(axis=1).astype(str)
    pays = means.max(axis=1)
    where = joined((Code(str(name)), f" at {number:,}") for name, number in best.value_counts().items())
    yield paragraph(f"The scenario's values were varied over {len(best):,} points. Pays most: ", *where, ".")
    varied = [column for column in runs.columns if "." in column]
    values = runs.groupby("point", sort=False, observed=True)[varied].first()
    if gain_goes_with_loss(run.content, varied):
        # What nobody stated changed as well.
        varied.insert(varied.index(LOSS) + 1, GAIN)
        values[GAIN] = values[LOSS]
    rows: list[list[Cell]] = [
        [
            *(number_text(values.loc[point, column]) for column in varied),
            Code(best[point]),
            f"{pays[point]:,.2f}",
            f"{risks.loc[point, best[point]]:.4f}",
        ]
        for point in best.index[:_POINTS_SHOWN]
    ]
    if varied:
        more = f"; the first {_POINTS_SHOWN} of {len(best):,}" if len(best) > _POINTS_SHOWN else ""
        header: list[Inline] = [*(Code(column) for column in varied), "Pays most", "Payoff per record", "Risk"]
        yield Table(header, rows, f"Best policy by point{more}", text_columns=frozenset({len(varied)}))


def _difference(larger: float, smaller: float) -> str:
    """Write how much larger an amount is, so that it agrees with the two as they are written, with cents."""
    written = round(larger, 2) - round(smaller, 2)
    return _amount(larger - smaller if same_payoff(round(larger, 2), round(smaller, 2)) else written)


def _amount(value: float) -> str:
    """Write an amount with cents; a smaller one with three digits."""
    return f"{value:,.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.3g}"
