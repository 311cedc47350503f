"""Lay out the results of the commands `stress`, `switch`, `attributes`, `attack` and `cross-play`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from reidsim.core.wording import Measure, counted
from reidsim.drafts.draft import COLUMNS_FILE, Draft, in_a_line
from reidsim.drafts.profile import ColumnProfile
from reidsim.engine.attributes import AttributesResult
from reidsim.engine.cross_play import BEST, MAXIMIN, MINIMAX_REGRET, WORST, CrossPlayResult
from reidsim.engine.red_team import AttackResult
from reidsim.engine.results import measures_in_manifest
from reidsim.engine.score import ScoreResult
from reidsim.engine.stress.run import StressResult, outputs_among
from reidsim.engine.switch import SwitchResult
from reidsim.games.cross_play import row_name
from reidsim.games.outcomes import PUBLISHER_PAYOFF, RISK, SHARE_ATTACKED
from reidsim.linkage.group_sizes import THRESHOLDS
from reidsim.linkage.uniqueness import Uniqueness
from reidsim.reports.description import FileDescription
from reidsim.reports.terminal import columns_that_fit, table_of, text_with_interval, texts_of, titled_table
from reidsim.reports.writer import lines_of
from reidsim.scenarios.kind import counted_units

# Maximum number of columns of a draft shown per use; the column file lists all.
_SHOWN = 12
_LONGEST_NAME = 24
_METHOD_NAMES = {
    "log-linear-independence": "Independence",
    "log-linear": "Some pairs",
    "log-linear-pairs": "All pairs",
    "benedetti-franconi": "Ben.-Franconi",
    "pitman": "Pitman",
    "ewens": "Ewens",
    "zayatz": "Zayatz",
}


def draft_table(draft: Draft, title: str) -> Table:
    """Return a terminal table with one row per column of a drafted file.

    It has the column's type, its numbers of distinct and of missing values, and its use: ``quasi-identifier`` or ``left
    out``. Quasi-identifiers come first. Columns left out follow: direct identifiers, columns that outsiders may know,
    and others. At most 12 columns of each of these four groups are shown; the caption counts the other columns.
    """
    by_use: dict[str, list[ColumnProfile]] = {"quasi-identifier": [], "direct": [], "possible": [], "other": []}
    for profile in draft.profiles:
        use = "possible" if profile.name in draft.choice.possible else "direct" if profile.is_direct else "other"
        by_use["quasi-identifier" if profile.name in draft.choice.names else use].append(profile)
    rows = []
    for use, profile in ((use, profile) for use, profiles in by_use.items() for profile in profiles[:_SHOWN]):
        name = Text(in_a_line(profile.name, _LONGEST_NAME) or "(no name)")
        taken = use if use == "quasi-identifier" else "left out"
        rows.append([name, profile.kind, f"{profile.distinct:,}", f"{profile.missing:,}", taken])
    more = f" and {len(draft.profiles) - len(rows):,} more columns" if len(rows) < len(draft.profiles) else ""
    caption = f"{draft.records:,} records; {COLUMNS_FILE} gives reasons{more}"
    columns = ("column", "type", "values", "missing", "use")
    table = titled_table(in_a_line(title), columns, caption, ("type", "use"), rows)
    table.box, table.title_style = box.SQUARE, ""
    table.columns[0].no_wrap, table.columns[0].overflow, table.columns[0].max_width = False, "fold", _LONGEST_NAME
    return table


def description_tables(description: FileDescription) -> Iterator[Table]:
    """Yield the tables of a file description, each at most 80 characters wide.

    They show the size of the file and its risk, the attributes, the group sizes, and the share of records (or people)
    in groups smaller than usual thresholds; for a sample, also the uniqueness in the population.
    """
    profile, people = description.profile, description.people
    one, several = ("record", "records") if people is None else ("person", "people")
    facts = {
        "Records": f"{description.records:,}",
        **({} if people is None else {"People": f"{people:,}"}),
        "Cells (combinations that occur)": f"{description.cells:,}",
        f"Unique {several}": f"{description.uniques:,} ({profile.share_below(2):.2%})",
        "Smallest group (k)": f"{profile.smallest:,}",
        f"Median group size of a {one}": f"{profile.median:,g}",
        "Risk of a uniform guess: highest": f"{1 / profile.smallest:.4f}",
        "Risk of a uniform guess: average": f"{profile.average_risk:.4f}",
    }
    caption = (
        "the file counts as the whole population: its uniques are population uniques (for a sample: --population-size "
        "or --weight)"
        if description.population_size is None
        else f"the file counts as a sample of {description.population_size:,} people"
    )
    table = titled_table(description.title or description.path.name, ["", "number"], caption, rows=facts.items())
    table.show_header = False
    yield table
    rows: list[list[str | Text]] = [
        [Text(of.name), f"{of.distinct:,}", f"{of.missing:,} ({of.missing / description.records:.2%})"]
        if of.missing
        else [Text(of.name), f"{of.distinct:,}", "-"]
        for of in description.attributes
    ]
    separate = any(attribute.missing for attribute in description.attributes)
    caption = "a missing value counts as a separate value, which matches only missing values" if separate else ""
    yield titled_table("Attributes", ["", "Distinct values", "Records without"], caption, rows=rows)
    title = "Records by group size" if people is None else "People by smallest group size"
    table = titled_table(title, ["Group size", "Cells", several.capitalize(), f"Share of {several}"])
    table.columns[0].justify = "right"
    for low, high, records, share in profile.bands():
        if not records:
            continue
        sizes = f"{low:,} or more" if high is None else f"{low:,}" if low == high else f"{low:,} to {high:,}"
        cells = description.frequencies.groups_between(low, high)
        table.add_row(sizes, f"{cells:,}", f"{records:,}", f"{share:.2%}")
    yield table
    shares = ["Share", *(f"{profile.share_below(k):.2%}" for k in THRESHOLDS)]
    yield titled_table(f"{several.capitalize()} in groups smaller than k", ["k =", *THRESHOLDS], rows=[shares])
    if description.uniqueness is not None:
        yield from _of_population(description.uniqueness)


def _of_population(uniqueness: Uniqueness) -> Iterator[Table]:
    """Yield tables of population uniqueness and of risk, with a row per method.

    The risk is that of a uniform guess, by estimated group sizes.
    """
    table = titled_table("Unique in the population", ["", "Expected people", "P(unique | unique in file)"])
    notes: dict[str, list[str]] = {}
    for estimate in uniqueness.estimates:
        name = _METHOD_NAMES[estimate.method]
        numbers = f"{estimate.expected_uniques:,.0f}\n({estimate.uniques_low:,.0f} to {estimate.uniques_high:,.0f})"
        share = f"{estimate.p_unique_given_sample_unique:.4f}\n({estimate.low:.4f} to {estimate.high:.4f})"
        table.add_row(name, numbers, share if estimate.sample_uniques else "-")
        if estimate.note:
            notes.setdefault(estimate.note, []).append(name)
    level = uniqueness.estimates[0].level
    caption = [] if level == 1 else [f"in brackets: {level:.0%} confidence intervals, if the method's model holds"]
    caption += [f"{', '.join(names)}: {note}" for note, names in notes.items()]
    table.caption = "\n".join([*caption, f"recommended: {_METHOD_NAMES[uniqueness.taken]}; {uniqueness.reason}"])
    yield table
    cells = uniqueness.cells
    columns = ["Risk of a uniform guess", "Average", "Highest", "Unique in file"]
    table = titled_table("Groups in the population, estimated", columns)
    for method, risk in uniqueness.risks.items():
        alone = f"{risk[cells.unique].mean():.4f}" if cells.unique.any() else "-"
        average = float(np.average(risk, weights=cells.records))
        table.add_row(_METHOD_NAMES[method], f"{average:.4f}", f"{risk.max():.4f}", alone)
    order = np.argsort(cells.people)
    middle = np.searchsorted(np.cumsum(cells.records[order]), cells.records.sum() / 2)
    table.caption = (
        f"the records represent {cells.population_size:,.0f} people; estimated group sizes in the population: smallest "
        f"{cells.people.min():,.1f}, median over records {cells.people[order][middle]:,.1f}"
    )
    yield table


# Measures shown in tables and figures of attributes.
SHOWN = (PUBLISHER_PAYOFF, RISK)

# Columns of the robustness table, with the columns that mark the best policies.
_ROBUSTNESS = (
    "{policy} | mean {mean_payoff:,.2f} | worst {worst_payoff:,.2f}{maximin} | quantile {quantile_payoff:,.2f}"
    "{quantile_best} | largest regret {largest_regret:,.2f}{minimax_regret} | best at {share_best:.0%}"
)
_MARKS = ["maximin", "quantile_best", "minimax_regret"]
_BOXES = "policy {policy} | bad points {share_bad:.0%} | box {words} | coverage {coverage:.0%} | density {density:.0%}"
_GUARANTEE = (
    "policy {policy} | safe records {share_safe:.0%} | parameter {parameter} | believed {believed:,.4g} | "
    "breaking {breaking:,.4g} | error {error:,.4g}"
)
_CLAIMS = (
    "claim {claim} | claims {claims:,} | right {success:.4f} | baseline {baseline:.4f} | "
    "right - baseline {lower:.4f} to {upper:.4f} | payoff {adversary_payoff:,.2f}"
)
# Label of each measure of an attack, its format, and the format of the ends of its interval, if it has one.
_ATTACK = {
    "rows": ("Rows", "{:,}", ""),
    "people": ("People in the register", "{:,}", ""),
    "coverage": ("Coverage of the register", "{:.2f}", ""),
    "claims": ("Claims", "{:,}", ""),
    "correct": ("Correct claims", "{:,}", ""),
    "payoff": ("Payoff", "{:,.2f}", ""),
    "brier_predicted": ("Brier score of the prediction", "{:.4f}", ""),
    "brier_probability": ("Brier score of the attack", "{:.4f}", ""),
    "expected": ("Correct claims, expected by the attack", "{:,.1f}", ""),
    "predicted": ("Correct claims, predicted", "{:,.1f}", "{:,.0f}"),
    "payoff_predicted": ("Payoff, predicted", "{:,.2f}", "{:,.2f}"),
    "precision": ("Precision", "{:.3f}", "{:.3f}"),
}
# Printed sensitivity indices, the most important first, and their meaning.
_SOBOL = "{total:.2f} ({first-order:.2f})", "total (first-order)"
_MORRIS = (
    "{mu_star:,.4g} ({sigma:,.4g})",
    "mu_star (sigma): mean change of the output per step of the parameter (and standard deviation)",
)
_TORNADO = "output at the low and at the high end of the parameter; all others have their own values"
# Intervals that are narrower than this, relative to the value, come from runs without random draws and are not shown.
_DRAWN = 1e-9
_CRITERIA = {
    "maximin": ("least_payoff", "Maximin", "pays at least", ""),
    "minimax_regret": ("largest_regret", "Minimax regret", "is at most", " below the best response"),
}
_CONCEPTS = {
    MAXIMIN: "guarantees {:,.2f} against every adversary",
    MINIMAX_REGRET: "mean regret of at most {:,.2f} against every adversary",
    BEST: "the best equilibrium for the defender, with payoff {:,.2f}",
    WORST: "the worst equilibrium for the defender, with payoff {:,.2f}",
}
_EXPLOITABILITY = (
    "defender {name} | least {least_payoff:,.2f} | below maximin {exploitability:,.2f} | best reply {best_reply} | "
    "pays then {payoff_then:,.2f}"
)
_ITERATIONS = (
    "{iteration} | plans {defenders} | adversaries {adversaries} | payoff {publisher_payoff:,.4f} | "
    "to gain {exploitability:,.4f} | least {best_exploitability:,.4f} | added {added}"
)
_LAST_ITERATION = {
    "iteration": "iterations",
    "publisher_payoff": "publisher's payoff",
    "best_exploitability": "remaining exploitability",
}
# Minimum probability of the strategies that are printed.
_LEAST_PROBABILITY = 0.0005
# Maximum number of points of a sweep that are printed.
_MOST_POINTS = 4
# Width of the text in the first column, which the terminal never wraps.
_WIDTH = 24


def stress_tables(result: StressResult, title: str) -> Iterator[Table]:
    """Yield terminal tables of sensitivity, robustness, boxes and broken guarantees.

    They are the results of a stress test. Analyses that the stress test did not perform have no table. `title` begins
    the title of each table.
    """
    measures = {measure.column: measure for measure in outputs_among(measures_in_manifest(result.manifest))}
    tables = result.tables
    if "sensitivity" in tables:
        yield from _sensitivity(tables["sensitivity"], title, measures)
    if "tornado" in tables:
        for output, rows in tables["tornado"].groupby("output", sort=False, observed=True):
            measure = measures[str(output)]
            texts = rows["at_low"].map(measure.text) + " to " + rows["at_high"].map(measure.text)
            yield _by_policy(f"{title}: {measure.in_text}", rows.assign(text=texts), _TORNADO)
    if "robustness" in tables:
        table = tables["robustness"]
        table = table.assign(**table[_MARKS].apply(lambda marks: marks.map({True: "*", False: ""})))
        points = f"over {table['points'].iloc[0]:,} points; * best by this criterion"
        caption = f"{measures[PUBLISHER_PAYOFF.column].in_text} {points}"
        yield table_of(f"{title}: robustness", table, _ROBUSTNESS, caption)
    if "boxes" in tables:
        table = tables["boxes"]
        words = pd.Series([bound_in_words(row) for row in table.to_dict("records")], index=table.index, dtype=str)
        table = table.assign(words=words.mask(table["box"] == 0, "none"))
        table["words"] = table.groupby(["policy", "box"], observed=True)["words"].transform(" and ".join)
        heading = f"{title}: where {measures[str(table['output'].iloc[0])].in_text} is bad"
        rows = table.drop_duplicates(["policy", "box"])
        yield table_of(heading, rows, _BOXES, "boxes found by PRIM (patient rule induction)", ("box",))
    if "guarantee" in tables:
        heading = f"{title}: errors that break the guarantee"
        caption = "first value at which an attack on a record believed safe is profitable"
        yield table_of(heading, tables["guarantee"], _GUARANTEE, caption, ("parameter",))


def _sensitivity(indices: pd.DataFrame, title: str, measures: Mapping[str, Measure]) -> Iterator[Table]:
    form, caption = _SOBOL if "total" in set(indices["index"]) else _MORRIS
    for output, rows in indices.groupby("output", sort=False, observed=True):
        single = rows[rows["other"] == ""]
        values = single.pivot(index=["parameter", "policy"], columns="index", values="value").reset_index()
        values["text"] = [text for (text,) in texts_of(values, form)]
        values = single[["parameter", "policy"]].drop_duplicates().merge(values)
        yield _by_policy(f"{title}: {measures[str(output)].in_text}", values, caption)


def _by_policy(title: str, rows: pd.DataFrame, caption: str) -> Table:
    """Return a terminal table of column ``text``, with a row per parameter and a column per policy."""
    policies, parameters = rows["policy"].unique(), rows["parameter"].unique()
    cells = rows.pivot(index="parameter", columns="policy", values="text").loc[parameters, policies]
    return titled_table(title, ["", *policies], caption, rows=cells.reset_index().astype(str).to_numpy().tolist())


def bound_in_words(bound: Mapping[Hashable, Any]) -> str:
    """Return a bound of a box as text, such as ``2.5 < economics.cost <= 7``.

    `bound` has the keys ``parameter``, ``low`` and ``high``; ends have 4 significant digits, and a missing end is
    omitted. Without a parameter, the text is ``everywhere``.
    """
    left = "" if pd.isna(bound["low"]) else f"{bound['low']:.4g} < "
    right = "" if pd.isna(bound["high"]) else f" <= {bound['high']:.4g}"
    return f"{left}{bound['parameter']}{right}" if bound["parameter"] else "everywhere"


def amount_text(value: float, precision: float = 0.0) -> str:
    """Return an amount with six significant digits, or fewer if it is not precise.

    The result is text. `precision` is the size of the amount's error, in the same unit; 0 if it is exact. Digits
    smaller than the error are omitted, at least one remains.
    """
    is_rough = precision > 0 and value > 0
    digits = max(1, min(6, math.floor(math.log10(value / precision)) + 1)) if is_rough else 6
    return f"{float(f'{value:.{digits}g}'):,.10g}"


def switch_table(result: SwitchResult) -> Table:
    """Return a terminal table of the intervals of an amount.

    A row has the ends of an interval, the best policy in it, its payoffs at both ends, and attacks and risk at the
    middle.
    """
    gain = "" if not result.link_gain else ", with gain equal to loss"
    one, several = counted_units(result.manifest["content"])
    columns = ("from", "to", "pays most", PUBLISHER_PAYOFF.label, f"{several.capitalize()} attacked", "Risk")
    caption = f"payoff per {one} at both ends; attacked and risk at the middle"
    rows: list[list[str | Text]] = []
    for row in result.intervals.to_dict("records"):
        payoffs = " to ".join(_money(row[f"publisher_payoff_{end}"]) for end in ("low", "high"))
        measures = SHARE_ATTACKED.text(row["share_attacked"]), RISK.text(row["risk"])
        best = Text(str(row["best"]) or "not determined")
        rows.append([amount_text(row["low"]), amount_text(row["high"]), best, payoffs, *measures])
    table = titled_table(f"{result.name}: best policy by {result.key}{gain}", columns, caption, ("pays most",), rows)
    table.columns[0].justify, table.columns[1].no_wrap = "right", True
    return table


def claims_tables(result: ScoreResult) -> list[Table]:
    """Return the terminal table of the claims about people from a scored file; empty if there are none."""
    caption = "right: share of right claims; baseline: without the person in the file\n"
    caption += "difference: 95 % interval; payoff of the adversary per claim\n"
    caption += "membership: half of the people tested are in the file"
    title = f"Claims about people from {result.file}"
    return [table_of(title, result.claims, _CLAIMS, caption)] if len(result.claims) else []


def switch_text(result: SwitchResult) -> list[str]:
    """Return lines of text on the best policy at the scenario's value and on switches.

    The switches are the nearest ones below and above the scenario's value at which another policy becomes the best.
    """
    facts = result.manifest["switch"]
    # A policy that only ties with the chosen policy does not replace it.
    changes = result.switches[result.switches["below"] != result.switches["above"]]
    return lines_of(
        "switch",
        result=result,
        facts=facts,
        amount=amount_text,
        throughout="" if len(changes) or facts["unsettled"] else result.intervals["policy"].iloc[0],
        below=changes[changes["value"] <= result.own].tail(1).to_dict("records"),
        above=changes[changes["value"] > result.own].head(1).to_dict("records"),
    )


def attributes_tables(result: AttributesResult) -> Iterator[Table]:
    """Yield a table per policy of payoff and risk without each column.

    It also has the column's Shapley share of payoff and risk. Two last rows have payoff and risk with all columns and
    with none.
    """
    columns = ["column"]
    for measure in SHOWN:
        columns += [f"{measure.label if measure is not RISK else 'Risk'} without", "share"]
    for policy, of_policy in result.table.groupby("policy", sort=False, observed=True):
        numbers = of_policy.select_dtypes("number").astype(float).round(6)
        by_measure = [(of, numbers[of_policy["measure"] == of.column].to_dict("records")) for of in SHOWN]
        rows: list[list[str | Text]] = []
        for place, name in enumerate(of_policy["attribute"].unique()):
            rows.append([Text(str(name))])
            for measure, values in ((of, found[place]) for of, found in by_measure):
                half = values["standard_error"] or None
                rows[-1] += [measure.text(values["without"]), text_with_interval(measure, values["share"], half)]
        for label, column in (("all kept", "all"), ("none kept", "none")):
            rows.append([label, *(text for of, found in by_measure for text in (of.text(found[0][column]), ""))])
        caption = "shares of the difference between all columns and none"
        yield titled_table(f"{result.name}: {policy}", columns, caption, rows=rows)


def attack_tables(result: AttackResult) -> Iterator[Table]:
    """Yield terminal tables of an attack: its outcome, precision by threshold, and errors."""
    own, rows = result.summary.iloc[0], list[list[str]]()
    for name, (label, form, end) in _ATTACK.items():
        if pd.notna(own.get(name)):
            ends = (end.format(own[f"{name}_{at}"]) for at in ("low", "high") if end)
            rows.append([label, form.format(own[name]), " to ".join(ends)])
    yield titled_table(f"Attack on {own['file']}", ("", "", "95 % interval"), rows=rows)
    layout = "from probability {threshold:.2f} | claims {claims:,} | predicted {predicted:.3f}"
    layout += " | correct {correct:,} | precision {precision:.3f}" if "correct" in own else ""
    yield table_of("Precision by threshold", result.thresholds, layout)
    layout = "column {column} | by the scenario {stated:.1%} | by the attack {estimated:.1%}"
    yield table_of("Cells that do not fit their person", result.errors, layout)


def cross_play_tables(result: CrossPlayResult, measure: str) -> Iterator[Table]:
    """Yield terminal tables of a measure by defender and adversary.

    A line has at most 80 characters. `measure` is the name of its column. One row per defender with the adversary
    planned against, one column per adversary met; further adversaries follow in further tables. Values are means over
    successful runs, ``-`` if missing. There is no table if every run failed.
    """
    if result.runs.empty:
        return
    matrix, shown = result.matrix(measure), result.measures[measure]
    runs = "" if result.design is None else f", mean of {counted(result.design.n_runs, 'run')}"
    # Round first, so that -0.001 is not printed as -0.00.
    texts = matrix.round(6).map(shown.text).replace(r"^-(0\.0+%?)$", r"\1", regex=True)
    widths = (max(len(str(adversary)), int(texts[adversary].str.len().max())) for adversary in texts.columns)
    for some in columns_that_fit(max(len(str(name)) for name in matrix.index), widths):
        rows = ([str(defender), *row] for defender, row in texts.iloc[:, some].iterrows())
        title = f"{result.name}{runs}: {shown.in_text}"
        yield titled_table(title, ["defender", *texts.columns[some]], rows=rows)


def cross_play_verdict(result: CrossPlayResult) -> list[str]:
    """Return sentences that name the best defender by each of two criteria, as a list.

    By maximin, it is the defender with the highest least payoff over all adversaries and swept values; by minimax
    regret, the defender with the lowest largest regret over them (see `worst_cases_table`). Of equally good defenders,
    the first is named and the others are counted. The list is empty if no run succeeded, or if every defender lacks a
    payoff in some run in which another one has one.
    """
    cases = result.worst_cases
    return lines_of(
        "cross_play_verdict",
        best={} if result.runs.empty else {name: cases[cases[name]].to_dict("records") for name in _CRITERIA},
        criteria=_CRITERIA,
        drawn=_DRAWN,
        money=_money,
        row_name=row_name,
        unit=counted_units(result.manifest["content"])[0],
        on_average=result.design is not None,
    )


def equilibrium_tables(result: CrossPlayResult) -> Iterator[Table]:
    """Yield tables of equilibrium mixtures, and of defenders by exploitability.

    The mixtures are by concept. Strategies with a probability below 0.0005 are omitted. Of a sweep, there are two
    tables for each of the first four points. There is no table if equilibria were not computed.
    """
    if "equilibria" not in result.equilibria:
        return
    swept = [] if result.design is None else list(result.design.swept)
    unit, _ = counted_units(result.manifest["content"])
    more = "other points in equilibria.parquet" if swept else ""
    points = result.equilibria["equilibria"][swept].drop_duplicates().head(_MOST_POINTS)
    for point in points.to_dict("records") if swept else [{}]:
        tables = {
            name: table[(table[swept] == pd.Series(point, dtype=object)).all(axis=1)] if point else table
            for name, table in result.equilibria.items()
        }
        place = f"{result.name}{''.join(f', {key} = {value}' for key, value in point.items())}"
        rows = []
        for concept, value in tables["equilibria"].set_index("concept")["value"].items():
            words = wrap(_CONCEPTS[str(concept)].format(value + 0.0), _WIDTH)
            mixture = tables["mixtures"][tables["mixtures"]["concept"] == concept]
            rows.append(["\n".join([str(concept), *words]), *_mixtures(mixture)])
        columns = ("", "defender", "adversary")
        yield titled_table(f"{place}: mixtures, payoffs per {unit}", columns, more, ("defender", "adversary"), rows)
        table = tables["exploitability"].round(6)
        table = table.assign(name=list(map(row_name, table["defender"], table["plans_against"])))
        caption = "below maximin: difference from the maximin mixture; best reply: adversary with the largest gain"
        yield table_of(f"{place}: exploitability per {unit}", table, _EXPLOITABILITY, caption, ("best reply",))


def double_oracle_tables(result: CrossPlayResult) -> Iterator[Table]:
    """Yield tables of the double-oracle iterations of a run, and of its mixtures.

    The mixtures are the final ones. For a batch, one table shows mean, minimum and maximum over the last iterations of
    its runs instead. There is no table if the double oracle was not run.
    """
    if "double_oracle" not in result.replies:
        return
    found, unit = result.replies["double_oracle"], counted_units(result.manifest["content"])[0]
    title = f"{result.name}: best responses added, "
    if result.design is not None:
        last = found.groupby(["point", "replication"], sort=False, observed=True)[list(_LAST_ITERATION)].last()
        over = last.agg(["mean", "min", "max"]).rename(columns=_LAST_ITERATION).T.reset_index(names="words")
        layout = "{words} | mean {mean:,.4g} | least {min:,.4g} | most {max:,.4g}"
        yield table_of(f"{title}payoffs per {unit}", over, layout)
        return
    added = found[["added_defender", "added_adversary"]].fillna("").agg("\n".join, axis=1).str.strip("\n")
    caption = "to gain: sum of both players' gains from best responses; least: smallest sum so far"
    yield table_of(f"{title}publisher's payoff per {unit}", found.assign(added=added), _ITERATIONS, caption, ("added",))
    mixtures = zip(("defender", "adversary"), _mixtures(result.replies["double_oracle_mixtures"]), strict=True)
    yield titled_table("", ("", "mixture"), left=("mixture",), rows=mixtures)


def _money(value: float) -> str:
    return PUBLISHER_PAYOFF.text(round(value, 6) + 0.0)


def _mixtures(table: pd.DataFrame) -> list[str]:
    """Return the mixtures of defender and adversary, one text each.

    A line of the text has a strategy and its probability. The most likely strategy comes first; strategies with a
    probability below 0.0005 are omitted. `table` has one row per player and strategy.
    """
    rows = table[table["probability"] >= _LEAST_PROBABILITY]
    rows = rows.sort_values("probability", ascending=False, kind="stable")
    lines: dict[str, list[str]] = {"defender": [], "adversary": []}
    for row in rows.to_dict("records"):
        lines[row["player"]].append(f"{row['probability']:.3f} {row_name(row['strategy'], row['plans_against'])}")
    return ["\n".join(of) for of in lines.values()]
