"""Provide the style of all figures: names, units, colours, markers and legends.

Styles are readable in grey print and by colour-blind readers. They are set on each figure and never in matplotlib's
global settings, which other figures use too.
"""

from __future__ import annotations

import io
import itertools
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib import rc_context, rcParamsDefault
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox

from reidsim.core.errors import writing
from reidsim.core.wording import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY_BLUE, VERMILION, Measure, columns_of
from reidsim.games.outcomes import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF
from reidsim.releases.lattice import Floats
from reidsim.scenarios.kind import find_kind, kinds_at_hand
from reidsim.scenarios.registry import DEFAULT_KIND

# Scenarios do not name a currency, and tables do not print one.
CURRENCY = "currency units"
UNIT = f"{CURRENCY} per record"

# Measures of amounts per record, and their columns.
PLAYERS = (PUBLISHER_PAYOFF, ADVERSARY_PAYOFF)
PAYOFFS = columns_of(PLAYERS)
# Characters of a policy's name on one line beside a row of panels.
_NAME_WIDTH = 13
# Resolution of files, for print.
_DOTS_PER_INCH = 160
# Margin on either side of a legend, inches.
_LEGEND_EDGE = 0.1
_INTERVAL = "95% confidence interval of the mean"
# Lines of more names than this have their names at their ends instead of in a legend.
_MOST_ENTRIES = 4

_COLOURS = (BLACK, VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY_BLUE)
_MARKERS = ("s", "o", "^", "D", "v", "P", "X")

Dashes = Literal["-", "--", "-.", ":"] | tuple[float, Sequence[float]]
_DASHES: tuple[Dashes, ...] = ("-", "--", "-.", ":", (0, (8, 2, 1, 2, 1, 2)), (0, (10, 4)), (0, (3, 3)))

# Parameter name in figures in which the gain equals the loss.
LOSS_AND_GAIN = "loss and gain"
_PARAMETER_LABELS = {
    "loss": f"Publisher's loss, L ({UNIT})",
    LOSS_AND_GAIN: f"Loss and gain, L = G ({UNIT})",
    "gain": f"Adversary's gain, G ({UNIT})",
    "benefit": f"Publisher's benefit, V ({UNIT})",
    "cost": f"Adversary's cost, c ({UNIT})",
}


# Units of other amounts, by the last part of the key.
_UNITS = {"access_cost": UNIT, "penalty": f"{CURRENCY} per detected exploit"}


_KEY_WORDS = {
    "access_cost": "cost of access",
    "max_penalties": "penalties at most",
    "detection_intercept": "detection (log odds)",
    "detection_slope": "growth of detection",
}


_NAMED_SECTIONS = ("resources", "adversaries")

# Robust choices of stress tests; no kind of scenario defines them.
_ROBUST = {
    "robust-maximin": "Robust: best worst case",
    "robust-minimax-regret": "Robust: least regret",
    "robust-quantile": "Robust: best quantile",
}


@dataclass(frozen=True)
class Look:
    """Style of a policy's lines and markers: colour, line style and marker.

    These are values of matplotlib. Line style and marker identify the policy without colour.
    """

    colour: str
    dashes: Dashes
    marker: str


def policy_name(policy: str) -> str:
    """Return the displayed name of a policy; an unknown name is returned unchanged.

    Policies of all kinds of scenario and robust choices of stress tests are known.
    """
    label = next((kind.policies[policy].label for kind in kinds_at_hand() if policy in kind.policies), policy)
    return _ROBUST.get(policy, label)


def _fixed_looks() -> tuple[str, ...]:
    """Return the policies of the default kind that have a fixed colour each.

    At most six names are returned, in order. They come first in rows and legends of figures.
    """
    return tuple(find_kind(DEFAULT_KIND).policies)[: len(_COLOURS) - 1]


def parameter_label(parameter: str) -> str:
    """Return the axis label of a payoff parameter or another scenario key.

    That of a payoff parameter has its symbol and unit; other keys are in words. A payoff parameter may have the prefix
    ``economics.``.
    """
    known = _PARAMETER_LABELS.get(parameter.removeprefix("economics."))
    return known or with_unit(sentence(key_words(parameter)), parameter)


def measure_label(measure: Measure) -> str:
    """Return the axis label of a measure; that of a payoff has its unit on a second line."""
    return f"{measure.label}\n({UNIT})" if measure.column in PAYOFFS else measure.label


def key_words(key: str) -> str:
    """Return a scenario key in words: ``"believed cost"`` for ``beliefs.cost``.

    The words include the name of a resource or adversary, as in ``"size of registry"`` for ``resources.registry.size``,
    because several such sections may have the same key. The names of other sections are omitted.
    """
    section, _, name = key.rpartition(".")
    words = _KEY_WORDS.get(name, name.replace("_", " "))
    first, _, named = section.partition(".")
    if named and first in _NAMED_SECTIONS:
        words = f"{words} of {given_name(named)}"
    return f"believed {words}" if first == "beliefs" else words


def with_unit(words: str, key: str) -> str:
    """Return words for a key, with the unit if the key is an amount of money.

    The unit is appended to `words` in brackets. The words describe the scenario key, such as ``economics.loss``; for
    other keys, they are returned unchanged.
    """
    section, _, name = key.rpartition(".")
    if name not in _PARAMETER_LABELS and name not in _UNITS:
        return words
    # The cost of a resource is paid once, not per record.
    return f"{words} ({CURRENCY if section.startswith('resources') else _UNITS.get(name, UNIT)})"


def given_name(name: str) -> str:
    """Return a name from a scenario with spaces in place of hyphens.

    An example is ``"voter list"`` for ``"voter-list"``.
    """
    return name.replace("-", " ")


def sentence(words: str) -> str:
    """Return words with a first capital letter, for titles and axis labels.

    The other letters are unchanged, and so are words that begin with a symbol, such as ``k-anonymity``.
    """
    return words if words[1:2] == "-" else words[:1].upper() + words[1:]


def ordered_policies(policies: Iterable[str]) -> list[str]:
    """Return distinct policies: known ones in fixed order, then the others.

    Known are the policies with a fixed colour; the others stay in their order.
    """
    return known_first(policies, _fixed_looks())


def ordered_looks(policies: Iterable[str]) -> dict[str, Look]:
    """Return the style of each distinct policy, by policy.

    The order is that of `ordered_policies`.
    """
    return looks(ordered_policies(policies))


def ordered_parameters(parameters: Iterable[str]) -> list[str]:
    """Return distinct parameters: payoff parameters in fixed order, then the others.

    The fixed order is loss, loss and gain, gain, benefit, cost; the others stay in their order.
    """
    return known_first(parameters, _PARAMETER_LABELS)


def known_first(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the distinct names in `names`, known ones first.

    Names in `known` come first, in its order; the others stay in their order.
    """
    distinct = list(dict.fromkeys(names))
    return [name for name in known if name in distinct] + [name for name in distinct if name not in known]


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the style of each distinct name, by name, in the order of first appearance.

    Known policies have a fixed style. Other names, such as names of adversaries, get the next style of a list, without
    the fixed styles of known policies in `names`.
    """
    policies = [*dict.fromkeys(map(str, names))]
    fixed = {policy: _look(number) for number, policy in enumerate(_fixed_looks())}
    own = {
        name: Look(policy.look.colour, _DASHES[place % len(_DASHES)], policy.look.marker)
        for kind in (() if fixed.keys() >= {*policies} else kinds_at_hand())
        for place, (name, policy) in enumerate(kind.policies.items())
        if policy.look is not None
    }
    known = own | fixed
    free = (_look(number) for number in itertools.count() if number >= len(fixed) or [*fixed][number] not in policies)
    return {policy: known[policy] if policy in known else next(free) for policy in policies}


def _look(number: int) -> Look:
    # After each cycle of colours, the three lists shift against each other, so that combinations repeat late.
    turn, place = divmod(number, len(_COLOURS))
    colour, marker = (place + turn) % len(_COLOURS), (place + 2 * turn) % len(_MARKERS)
    return Look(_COLOURS[colour], _DASHES[place], _MARKERS[marker])


# Axes of a user into which the next figure is drawn.
_GIVEN: ContextVar[Axes | None] = ContextVar("given", default=None)


@contextmanager
def drawing_into(axes: Axes) -> Iterator[None]:
    """Return a context in which a figure of one panel is drawn into given axes, with its legend."""
    before = _GIVEN.set(axes)
    try:
        yield
    finally:
        _GIVEN.reset(before)


class Layout(ConstrainedLayoutEngine):
    """Constrained layout with rounded positions.

    The solver adds in the order of memory addresses, so that the last digits of positions differ between processes.
    """

    def execute(self, fig: Any) -> None:
        """Arrange the axes of a figure; see `ConstrainedLayoutEngine`."""
        super().execute(fig)
        for part in fig.subfigs:
            part.bbox_relative.set_points(_rounded(part.bbox_relative))
        for axes in fig.axes:
            axes.set_position(Bbox(_rounded(axes.get_position(original=True))), which="original")
            # Otherwise, later layouts would leave the axes where they are.
            axes.set_in_layout(True)


def _rounded(box: Any) -> Floats:
    """Return the corners of a box to a millionth of the figure; zeros are positive."""
    corners: Floats = np.round(box.get_points(), 6) + 0.0
    return corners


def new_figure(
    rows: int,
    columns: int,
    *,
    panel: tuple[float, float],
    sharex: bool | Literal["col"] = False,
    sharey: bool | Literal["row", "col"] = False,
) -> tuple[Figure, list[list[Axes]]]:
    """Return a new figure of rows x columns panels, and the axes by row and column.

    `panel` is the approximate width and height of a panel with its labels, inches. With `sharex` or `sharey`, all
    panels (with ``"col"``, all panels of a column) have the same axis.
    """
    if (given := _GIVEN.get()) is not None:
        own: Any = given.figure
        return own, [[given]]
    # Add height for the figure's legend and title.
    engine = Layout(hspace=0.06, wspace=0.04)
    figure = Figure(figsize=(columns * panel[0], rows * panel[1] + 0.6), layout=engine, facecolor="white")
    grid: list[list[Axes]] = figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey).tolist()
    for axes in (axes for row in grid for axes in row):
        axes.set_facecolor("white")
        axes.tick_params(labelsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, grid


def panels(number: int, columns: int, *, panel: tuple[float, float], sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a new figure of `number` panels in at most `columns` columns.

    The second value has the axes of the panels, row by row. For `panel`, the width and height of a panel, and `sharey`,
    see `new_figure`.
    """
    figure, grid = new_figure(-(-number // columns), min(number, columns), panel=panel, sharey=sharey)
    every = [axes for row in grid for axes in row]
    for spare in every[number:]:
        spare.remove()
    return figure, every[:number]


def draw_line(axes: Axes, x: Any, y: Any, look: Look, *, marks: int = 12, **more: Any) -> None:
    """Draw a line with about `marks` markers.

    More markers blur a long line. Markers of fewer than three points are not joined, because two say nothing about the
    values between them. `more` are options of matplotlib's ``plot``, such as the label, which override the style.
    """
    every, joined = max(1, len(x) // marks), len(x) > 2 or more.get("marker", look.marker) is None
    dashes = look.dashes if joined else "none"
    own = {"color": look.colour, "linestyle": dashes, "marker": look.marker, "markevery": every}
    axes.plot(x, y, **{**own, "markersize": 5, "markerfacecolor": "white", **more})


def draw_lines(
    axes: Axes, rows: pd.DataFrame, x: str, y: str, look: Mapping[str, Look], *, by: str = "policy", **more: Any
) -> None:
    """Draw column `y` over column `x`, with one line per policy or other value of the column `by`.

    `look` has the style of each value to draw. Earlier lines are wider than later lines on top of them, so that
    coinciding lines stay visible, and in long lines, markers of different lines are at different points. Intervals in
    the columns that `interval_of` names are drawn as error bars. For `more`, see `draw_line`.
    """
    ends = interval_of(y)
    for number, (policy, own) in enumerate(look.items()):
        line = rows[rows[by] == policy].sort_values(x, kind="stable")
        every = max(1, len(line) // 10)
        apart = {"linewidth": 2.4 - 1.2 * number / len(look), "markevery": (every * number // len(look), every)}
        draw_line(axes, line[x], line[y], own, **{"label": policy_name(policy), **apart, **more})
        if {*ends} <= set(line) and line[ends].notna().any(axis=None):
            spread = (line[ends].sub(line[y], axis=0)).abs().to_numpy().T
            bars: dict[str, Any] = {"fmt": "none", "elinewidth": 0.8, "capsize": 2, "label": _INTERVAL}
            axes.errorbar(line[x], line[y], spread, ecolor=own.colour, **bars)


def interval_of(column: str) -> list[str]:
    """Return the names of the columns with both ends of the interval around a mean."""
    return [f"{column} {end}" for end in ("low", "high")]


def means_with_intervals(rows: pd.DataFrame, by: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Return the mean of `columns` over the rows of each group, with its 95% confidence interval.

    Groups are rows with equal values of the columns `by`. The ends of the interval are in the columns that
    `interval_of` names; they are missing for a group of one row.
    """
    from scipy.special import stdtrit

    groups = rows.groupby([*by], sort=False, observed=True)[[*columns]]
    means, numbers = groups.mean(), groups.count()
    half = groups.sem() * stdtrit((numbers - 1).where(numbers > 1), 0.975)
    for column in columns:
        low, high = interval_of(column)
        means[low], means[high] = means[column] - half[column], means[column] + half[column]
    return means.reset_index()


def draw_steps(axes: Axes, x: Any, y: Any, look: Look, label: str, **more: Any) -> None:
    """Draw a step function that jumps to `y` at each `x`, named `label` in the legend.

    `more` are options of matplotlib's ``step``.
    """
    axes.step(x, y, **{"where": "post", "color": look.colour, "linestyle": look.dashes, "label": label, **more})


def range_panels(
    drawn: Sequence[tuple[pd.DataFrame, str, str]], look: Mapping[str, Look], *, width: float, values: str
) -> tuple[Figure, list[Axes]]:
    """Return a figure of panels side by side, with a row per policy: the range of its values.

    A thin line extends from the smallest to the largest value, a thick one between the quartiles; a circle is at the
    median.

    Parameters
    ----------
    drawn : sequence of tuple
        Table, column and axis label of each panel. A table has a column ``policy``.
    look : mapping of str to Look
        Style of each policy, in the order of rows.
    width : float
        Width of a panel, inches.
    values : str
        The values in words, such as ``"replications"``, for the legend.
    """
    figure, [row] = new_figure(1, len(drawn), panel=(width, 0.7 + 0.27 * len(look)), sharey=True)
    for axes, (table, column, label) in zip(row, drawn, strict=True):
        for place, (policy, own) in enumerate(look.items()):
            ends = table.loc[table["policy"] == policy, column].quantile([0, 0.25, 0.5, 0.75, 1]).to_numpy()
            axes.plot(ends[[0, 4]], [place, place], color=own.colour, linewidth=1)
            axes.plot(ends[[1, 3]], [place, place], color=own.colour, linewidth=5, solid_capstyle="butt")
            axes.plot(ends[2], place, marker="o", markersize=5, color=own.colour, markerfacecolor="white")
        axes.grid(axis="y", color="#E6E6E6", linewidth=0.6)
        label_axes(axes, x=label, numbers="x")
    name_rows(row[0], map(policy_name, look))
    if any(table["policy"].duplicated().any() for table, _, _ in drawn):
        ends_of = Line2D([], [], color=BLACK, linewidth=1, label=f"smallest to largest of {values}")
        middle: dict[str, Any] = {"marker": "o", "markerfacecolor": "white", "label": "quartiles and median"}
        legend_below(figure, [ends_of, Line2D([], [], color=BLACK, linewidth=5, **middle)])
    return figure, row


def write_at(axes: Axes, text: str, place: tuple[float, float], offset: tuple[float, float], **more: Any) -> None:
    """Write a text at a point in data units, moved by an offset in points (1/72 inch).

    `more` are options of matplotlib's ``annotate``.
    """
    axes.annotate(text, place, xytext=offset, textcoords="offset points", fontsize=9, **more)


def label_axes(axes: Axes, *, title: str = "", x: str = "", y: str = "", numbers: str = "") -> None:
    """Set the title and axis labels of a panel, with currency signs as plain text.

    They begin with a capital letter; an empty one is not set. `numbers` are the axes, such as ``x`` or ``xy``, whose
    numbers are formatted; see `number_ticks`.
    """
    if title:
        axes.set_title(sentence(title), fontsize=10, loc="left", parse_math=False)
    for axis, label in ((axes.xaxis, x), (axes.yaxis, y)):
        if label:
            axis.set_label_text(sentence(label), fontsize=9, parse_math=False)
    number_ticks(*(getattr(axes, f"{axis}axis") for axis in numbers))


def name_row(axes: Axes, policy: str) -> None:
    """Write the name of a policy on the left of its row of panels, given the first of them."""
    label_axes(axes, y=textwrap.fill(policy_name(policy), _NAME_WIDTH))


def name_rows(axes: Axes, names: Iterable[str]) -> None:
    """Write names at the y axis, from top to bottom, each beside its row of height 1."""
    rows = list(names)
    axes.set_yticks(range(len(rows)), rows, parse_math=False)
    axes.set_ylim(len(rows) - 0.5, -0.5)


def number_ticks(*axes: Axis, whole: bool = False) -> None:
    """Put at most seven numbers on each linear axis, with thousands separators.

    They are 1, 2 or 5 times a power of ten apart; with `whole`, they are whole numbers.
    """
    for axis in axes:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=whole, min_n_ticks=1))
        write_out(axis)


def percent_ticks(*axes: Axis, whole: float = 1.0) -> None:
    """Put at most seven percentages on each linear axis, on which `whole` is 100%."""
    for axis in axes:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{number_text(100 * value / whole)}%"))


def is_geometric(values: Floats) -> bool:
    """Return whether increasing values are spaced more evenly by factor than by step.

    The result is False for fewer than three values, or if the first is 0 or less.
    """
    if len(values) < 3 or values[0] <= 0:
        return False
    steps, factors = np.diff(values), np.diff(np.log(values))
    # The margin absorbs rounding: if both spacings are even, use the linear axis.
    return bool(factors.max() / factors.min() < steps.max() / steps.min() * (1 - 1e-9))


def scale_axis(axes: Axes, which: Literal["x", "y"], values: Floats) -> None:
    """Set a linear or logarithmic scale that suits the values, and format numbers.

    `values` are increasing. The scale is logarithmic if `is_geometric` is true of the values.
    """
    axis = axes.xaxis if which == "x" else axes.yaxis
    if not is_geometric(values):
        number_ticks(axis)
        return
    axes.set(**{f"{which}scale": "log"})
    log_ticks(axis, values[-1] / values[0])


def log_ticks(axis: Axis, factor: float) -> None:
    """Format a logarithmic axis; `factor` is its largest value over its smallest.

    Numbers are at powers of ten, and at 2 and 5 times these if the factor is below 100.
    """
    axis.set_major_locator(LogLocator(subs=(1.0,) if factor >= 100 else (1.0, 2.0, 5.0)))
    write_out(axis)
    axis.set_minor_formatter(NullFormatter())


def write_out(axis: Axis) -> None:
    """Write an axis's numbers by `number_text`, without offsets."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))


def number_text(value: float) -> str:
    """Return a number as on an axis: ``"25,000"``, ``"0.5"``, ``"\N{MINUS SIGN}3"``.

    It has at most ten significant digits; below 0.0001 and from 10 billion on, it has a power of ten.
    """
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")


def money_text(value: float) -> str:
    """Return an amount with two decimals and no currency, such as ``"1,049.70"``."""
    return f"{value:,.2f}".replace("-", "\N{MINUS SIGN}")


def patches(look: Mapping[str, Look]) -> list[Patch]:
    """Return a coloured patch per policy as legend handles, in the order of `look`."""
    return [Patch(color=own.colour, label=policy_name(policy)) for policy, own in look.items()]


def zero_line(axes: Axes) -> None:
    """Draw a thin horizontal line at zero."""
    axes.axhline(0, color=GREY, linewidth=0.8, zorder=0.5)


def headline(figure: Figure, text: str, *, fontsize: float = 11) -> None:
    """Write a line above all panels of a figure, with currency signs as plain text."""
    if (given := _GIVEN.get()) is not None:
        # The empty line below it is that of the panel's own title.
        given.set_title(f"{text}\n", fontsize=fontsize, parse_math=False)
    else:
        figure.suptitle(sentence(text), fontsize=fontsize, parse_math=False)


def legend_below(figure: Figure, more: Sequence[Artist] = (), columns: int = 4) -> None:
    """Put one legend for all panels below them, in at most `columns` columns.

    The legend has an entry for each label of the artists in all panels, then for the artists in `more`, which replace
    artists of the same label, and for the intervals of `draw_lines`. It has as many columns as fit into the figure's
    width. The figure grows if it is too narrow for one column or too low for the rows. More than four lines have their
    names at their ends, right of the last panel of each row.
    """
    given = _GIVEN.get()
    every = [given] if given else figure.axes
    drawn = (axes.get_legend_handles_labels() for axes in every)
    labelled = {label: artist for pair in drawn for artist, label in zip(*pair, strict=True) if label != _INTERVAL}
    names = {label for label, artist in labelled.items() if isinstance(artist, Line2D)}
    if len(names) > _MOST_ENTRIES:
        for axes in {axes.get_position().y0: axes for axes in every if axes.get_lines()}.values():
            _name_ends(axes, names)
        labelled = {label: artist for label, artist in labelled.items() if label not in names}
    intervals: list[Any] = [bars for axes in every for bars in axes.containers if bars.get_label() == _INTERVAL]
    labelled |= {str(artist.get_label()): artist for artist in [*more, *intervals[:1]]}
    handles = list(labelled.values())
    if not handles:
        return
    if given is not None:
        given.legend(handles=handles, fontsize=9, frameon=False)
        return
    canvas: Any = FigureCanvasAgg(figure)
    for number in range(min(columns, len(handles)), 0, -1):
        legend = figure.legend(
            handles=handles, ncols=number, loc="outside lower center", fontsize=9, frameon=False, handlelength=3.5
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
        width = legend.get_window_extent(canvas.get_renderer()).width / figure.dpi + 2 * _LEGEND_EDGE
        if width <= figure.get_figwidth() or number == 1:
            break
        legend.remove()
    # New figures have room for two rows.
    rows = -(-len(handles) // number)
    figure.set_size_inches(max(width, figure.get_figwidth()), figure.get_figheight() + 0.19 * max(0, rows - 2))


def _name_ends(axes: Axes, names: Collection[str]) -> None:
    """Write the names of lines to the right of a panel, each as close to the line's end as the other names allow."""
    from scipy.optimize import isotonic_regression

    lines = [line for line in axes.get_lines() if line.get_label() in names]
    points = (np.asarray(line.get_xydata()) for line in lines)
    ends = np.array([xy[np.isfinite(xy).all(axis=1)][-1] for xy in points])
    axes.autoscale_view()
    heights = axes.transAxes.inverted().transform(axes.transData.transform(ends))[:, 1]
    order = np.argsort(heights, kind="stable")
    # Share of the panel's height that a name takes.
    room = np.arange(len(lines)) * 14 / axes.bbox.height * axes.figure.dpi / 72
    # Isotonic regression moves names that would overlap apart, by the least sum of squares.
    places = np.clip(isotonic_regression(heights[order] - room).x, 0, max(0, 1 - room[-1])) + room
    for line, end, place in zip([lines[number] for number in order], ends[order], places, strict=True):
        colour: Any = line.get_color()
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
        axes.annotate("", end, (1.035, place), textcoords="axes fraction", arrowprops=leader, annotation_clip=False)
        words: dict[str, Any] = {"transform": axes.transAxes, "va": "center", "fontsize": 9, "color": colour}
        axes.text(1.04, place, str(line.get_label()), parse_math=False, **words)


@contextmanager
def own_settings() -> Iterator[None]:
    """Return a context in which matplotlib has its defaults, except the backend, and writes ``$`` as plain text.

    The user's ``matplotlibrc``, which may change the style or need LaTeX, is ignored there.
    """
    own = {key: value for key, value in rcParamsDefault.items() if not key.startswith("backend")}
    # Names and values of the user's columns may contain the sign; the package writes no formulas.
    with rc_context({**own, "text.parse_math": False}):
        yield


# Metadata that are left out, by ending of the file.
FORMATS: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Creator": None, "Date": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}


def name_unit(figure: Figure, unit: str) -> Figure:
    """Replace records by the unit of a scenario, such as ``"person"``, in the labels of a figure; return the figure."""
    for text in figure.findobj(Text):
        text.set_text(text.get_text().replace("per record", f"per {unit}"))
    return figure


def picture_of(figure: Figure, ending: str) -> bytes:
    """Return a figure as a file with an ending in `FORMATS`; equal figures give equal bytes."""
    # Without metadata, the file has no version and no time, which differ between figures with equal content. Journals
    # want TrueType fonts (42) in PDF.
    picture = io.BytesIO()
    with own_settings(), rc_context({"svg.hashsalt": "reidsim", "pdf.fonttype": 42}):
        figure.savefig(picture, format=ending[1:], dpi=_DOTS_PER_INCH, metadata=FORMATS[ending])
    return picture.getvalue()


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format of its ending; see `picture_of`.

    Parameters
    ----------
    figure : Figure
        The figure.
    path : str or Path
        Path in an existing folder, which ends in one of `FORMATS`; an existing file is replaced.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    picture = picture_of(figure, Path(path).suffix)
    with writing(path):
        Path(path).write_bytes(picture)
