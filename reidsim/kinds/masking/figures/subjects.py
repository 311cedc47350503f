"""Draw outcomes and masks of masking policies (Wan et al. 2021, Figs. 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

import numpy as np
import pandas as pd
import scipy
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from reidsim.figures import style
from reidsim.kinds.masking.policy import POLICIES
from reidsim.palette import BLACK, GREY, VERMILION
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.schema import RECORD_COLUMNS

_ATTACKED = "#F6D5C3"
_BETWEEN = "#8C8C8C"
_DENSITY_POINTS = 200
# Height of the panel above a map, inches.
_ABOVE = 0.5
# Pixels of a map: for each attribute, and at least for all subjects together.
_FINER, _FINEST = 40, 2_000
# Maximum number of subjects that a map shows: of more, evenly spaced ones are drawn, to limit the size of the image.
_MOST_COLUMNS = 4_000
_HALF_WIDTH = 0.42


def effectiveness(runs: pd.DataFrame, records: pd.DataFrame) -> Figure:
    """Draw the payoffs by policy, and privacy against utility (Fig. 2).

    Parameters
    ----------
    runs : DataFrame
        One row per replication and policy, with columns ``replication``, ``policy``, ``publisher_payoff`` (money per
        record), ``utility`` and ``risk``.
    records : DataFrame
        One row per record and policy of a single replication, with columns ``record``, ``policy`` and
        ``publisher_payoff``. Used only if there is a single replication.

    Returns
    -------
    Figure
        Left: the distribution of mean payoffs over replications, or of payoffs over records for a single replication,
        as densities with quartiles and medians. Right: one mark per replication and policy, at mean utility and mean
        privacy (1 - risk).
    """
    policies = ordered_masking_policies(runs["policy"])
    several = bool((runs["replication"] != runs["replication"].iloc[0]).any())
    payoffs = runs if several else records
    figure, grid = style.new_figure(1, 2, panel=(5.2, 0.9 + 0.33 * max(len(policies), 6)))
    left, right = grid[0]
    for row, policy in enumerate(reversed(policies)):
        values = payoffs.loc[payoffs["policy"] == policy, "publisher_payoff"].to_numpy()
        # A mean payoff may lie outside the observed range; a record's payoff is bounded, so its density has no tails.
        _violin(left, values, row, masking_look(policy).colour, tails=several)
    left.set_yticks(range(len(policies)), [style.policy_name(policy) for policy in reversed(policies)], fontsize=9)
    left.set_ylim(-0.6, len(policies) - 0.4)
    left.tick_params(axis="y", length=0)
    left.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
    style.number_ticks(left.xaxis)
    what = "Mean payoff of a replication" if several else "Payoff of a subject"
    style.label_axes(left, title="(a) Payoff", x=f"{what} ({style.UNIT})")
    for policy in policies:
        rows = runs[runs["policy"] == policy]
        right.scatter(
            rows["utility"],
            1 - rows["risk"],
            s=36 if several else 60,
            marker=masking_look(policy).marker,
            color=masking_look(policy).colour,
            alpha=0.75 if several else 1,
            linewidths=0,
            clip_on=False,
            zorder=2,
        )
    right.set_xlim(-0.03, 1.03)
    lowest = float((1 - runs["risk"]).min())
    right.set_ylim(min(lowest, 1 - 0.1) - 0.03, 1.03 if lowest < 0.8 else 1.01)
    right.grid(color="#E6E6E6", linewidth=0.6)
    right.set_axisbelow(True)
    style.number_ticks(right.xaxis, right.yaxis)
    style.label_axes(right, title="(b) Privacy and utility", x="Mean utility", y="Mean privacy (1 \N{MINUS SIGN} risk)")
    policy_legend(figure, policies)
    return figure


def strategy_map(records: pd.DataFrame, policies: Sequence[str] | None = None) -> Figure:
    """Draw the masked attributes of every subject, by policy (Fig. 3).

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with the columns of records.parquet: ``record``, ``policy``, ``attacked``,
        ``publisher_payoff`` (money per record), ``success_probability``, ``utility`` and one column per attribute: its
        released value, missing if masked.
    policies : sequence of str, optional
        Policies to show; by default, all policies that mask attribute by attribute.

    Returns
    -------
    Figure
        One panel per policy, with one row per attribute and one column per subject. Cells are black if masked and grey
        if released at an intermediate level. Subjects who are not attacked are on the left, attacked subjects on the
        right with a shaded background; in both groups, the number of masked attributes falls from left to right. Above
        a map: the number of attributes that each subject masks. Right of it: the share of subjects who mask each
        attribute. Title: mean utility loss, payoff and risk.
    """
    attributes = [str(column) for column in records.columns if column not in RECORD_COLUMNS]
    released = records[attributes].reset_index(drop=True)
    present = ordered_masking_policies(records["policy"])
    shown = masks_by_attribute(present) if policies is None else list(policies)
    columns = min(2, len(shown))
    rows = ceil(len(shown) / columns)
    map_height = max(1.2, len(attributes) * 0.165)
    figure = Figure(
        figsize=(columns * 5.6, rows * (map_height + _ABOVE + 0.9)),
        layout=ConstrainedLayoutEngine(h_pad=0.03, hspace=0),
        facecolor="white",
    )
    parts = figure.subfigures(rows, columns, squeeze=False).ravel()
    for letter, part, policy in zip("abcdefghij", parts, shown, strict=False):
        chosen = (records["policy"] == policy).to_numpy()
        part.suptitle(f"({letter}) {style.policy_name(policy)}", x=0.01, ha="left", fontsize=10)
        _map(part, records[chosen], released[chosen], attributes, map_height)
    return figure


def masks_by_attribute(policies: Iterable[str]) -> list[str]:
    """Return the policies that `strategy_map` shows, in its order."""
    return [policy for policy in ordered_masking_policies(policies) if policy in POLICIES and POLICIES[policy].masks]


def ordered_masking_policies(policies: Iterable[str]) -> list[str]:
    """Return distinct policies: registered ones in order, then the others."""
    return style.known_first(policies, POLICIES)


def masking_look(policy: str) -> style.Look:
    """Return the style of a policy, equal in all figures."""
    return style.looks([policy])[policy]


def policy_legend(figure: Figure, policies: Iterable[str]) -> None:
    """Draw a legend of policies below a figure."""
    looks = {policy: masking_look(policy) for policy in policies}
    style.legend_below(
        figure,
        [
            Line2D(
                [],
                [],
                linestyle="",
                marker=look.marker,
                color=look.colour,
                markersize=7,
                label=style.policy_name(policy),
            )
            for policy, look in looks.items()
        ],
    )


def _violin(axes: Axes, values: Floats, row: float, colour: str, *, tails: bool) -> None:
    """Draw a horizontal density with a bar between quartiles and a mark at the median."""
    low, high = float(values.min()), float(values.max())
    # A density estimate needs values that differ by more than rounding errors.
    spread = high - low > 1e-9 * max(abs(low), abs(high), 1.0)
    if spread:
        kernel = scipy.stats.gaussian_kde(values)
        tail = 2 * float(np.sqrt(kernel.covariance[0, 0])) if tails else 0.0
        at = np.linspace(low - tail, high + tail, _DENSITY_POINTS)
        density = kernel(at)
        width = _HALF_WIDTH * density / density.max()
        axes.fill_between(at, row - width, row + width, color=colour, alpha=0.45, linewidth=0)
        axes.plot(at, row + width, color=colour, linewidth=0.9)
        axes.plot(at, row - width, color=colour, linewidth=0.9)
    first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
    axes.plot([first, third], [row, row], color=BLACK, linewidth=3.2, solid_capstyle="butt")
    face, edge = ("white", BLACK) if spread else (colour, colour)
    axes.plot([middle], [row], marker="o", markersize=4.2, color=face, markeredgecolor=edge, markeredgewidth=0.9)


def _map(part: SubFigure, table: pd.DataFrame, released: pd.DataFrame, attributes: list[str], height: float) -> None:
    masked = released.isna().to_numpy()
    between = released.apply(lambda column: column.astype("str").str.startswith("group of ")).to_numpy() & ~masked
    attacked = table["attacked"].to_numpy()
    # Among subjects with equally many masked attributes, sort equal masks together.
    order = np.lexsort((*masked.T[::-1], -masked.sum(axis=1), attacked))
    masked, between, attacked = masked[order], between[order], attacked[order]
    n_subjects, n_attributes = masked.shape
    grid = part.subplots(
        2, 2, gridspec_kw={"height_ratios": [_ABOVE, height], "width_ratios": [1, 0.13], "hspace": 0, "wspace": 0}
    )
    (top, corner), (centre, side) = grid.tolist()
    corner.set_axis_off()
    # Show a subset of many subjects: neighbours in this order have similar masks.
    shown = np.unique(np.linspace(0, n_subjects - 1, min(n_subjects, _MOST_COLUMNS)).astype(np.intp))
    pixels = _pixels(masked[shown], between[shown], attacked[shown])
    centre.imshow(pixels, aspect="auto", extent=(0, n_subjects, n_attributes - 0.5, -0.5))
    centre.set_yticks(range(n_attributes), attributes, fontsize=9, parse_math=False)
    centre.set_yticks(np.arange(n_attributes - 1) + 0.5, minor=True)
    centre.grid(axis="y", which="minor", color="#D9D9D9", linewidth=0.4)
    centre.tick_params(which="both", length=0)
    centre.tick_params(axis="x", labelsize=9, length=2)
    style.number_ticks(centre.xaxis)
    if n_subjects < 10:
        centre.set_xticks(range(n_subjects + 1))
    n_safe = int((~attacked).sum())
    if 0 < n_safe < n_subjects:
        for axes in (top, centre):
            axes.axvline(n_safe, color=VERMILION, linewidth=1)
    style.label_axes(centre, x=f"Subjects: {n_safe:,} not attacked, {n_subjects - n_safe:,} attacked")
    centre.xaxis.label.set_size(9)
    counts = masked.sum(axis=1)
    top.stairs(counts[shown], np.append(shown, n_subjects), fill=True, color="#4D4D4D")
    if n_safe < n_subjects:
        top.axvspan(n_safe, n_subjects, color=_ATTACKED, linewidth=0, zorder=0)
    top.set_xlim(0, n_subjects)
    top.set_ylim(0, n_attributes)
    top.set_yticks([0, n_attributes])
    top.set_xticks([])
    top.set_ylabel("masked", fontsize=9)
    side.barh(np.arange(n_attributes), masked.mean(axis=0), height=0.8, color="#4D4D4D")
    side.set_ylim(n_attributes - 0.5, -0.5)
    side.set_xlim(0, 1)
    side.set_xticks([0.5, 1], ["0.5", "1"])
    side.set_yticks([])
    style.label_axes(side, x="Share")
    side.xaxis.label.set_size(9)
    for axes in (top, side):
        axes.tick_params(labelsize=9, length=2)
        axes.spines[["top", "right"]].set_visible(False)
    risk = np.where(table["attacked"], table["success_probability"], 0.0).mean()
    texts = {
        "left": f"utility loss {1 - table['utility'].mean():.3f}",
        "center": f"payoff {style.money_text(table['publisher_payoff'].mean())}",
        "right": f"risk {risk:.3f}",
    }
    for place, text in texts.items():
        top.set_title(text, fontsize=9, loc=place, pad=3, parse_math=False)


def _pixels(masked: NDArray[np.bool_], between: NDArray[np.bool_], attacked: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return the pixels of a map at a resolution that keeps every column and edge."""
    ground = np.where(attacked[:, None], to_rgb(_ATTACKED), to_rgb("white"))
    pixels = np.broadcast_to(ground[:, None, :], (*masked.shape, 3)).copy()
    pixels[between] = to_rgb(_BETWEEN)
    pixels[masked] = to_rgb(BLACK)
    pixels = np.round(pixels.transpose(1, 0, 2) * 255).astype(np.uint8)
    return pixels.repeat(_FINER, axis=0).repeat(ceil(_FINEST / len(masked)), axis=1)
