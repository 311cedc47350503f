"""Every benchmark at the small settings of README.md, one process each, and the page docs/reference/performance.md.

Run by hand, on an idle machine: ``python benchmarks/all.py``. Seconds of a whole benchmark are of the processor, its
children included; seconds of figures and of growth are measured by the benchmark.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import platform
import re
import resource
import shlex
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import figures
import numpy as np

from reidsim.scenarios.scenario import Scenario

FOLDER = Path(__file__).resolve().parent
_GROUND = "#EEEEEE"
PICTURE = "figures/performance-growth.png"
# Quantities that grow, with their sizes; some use a growing sample of the population of `wan2015`.
GROWTH = {
    "first_minute.growth_in_rows": (2_000, 20_000, 200_000),
    "wan2015.growth_in_records": (1_000, 10_000, 100_000, 1_000_000),
    "agents.growth_in_subjects": (1_000, 10_000, 100_000, 1_000_000),
    "agents.growth_in_rounds": (10, 100, 1_000),
    "columns.growth_in_columns": (3, 6, 9, 12),
    "dataset_level.growth_in_rows": (1_000, 10_000, 100_000, 1_000_000),
    "masking.growth_in_subjects": (100, 1_000, 10_000),
    "knowledge.growth_in_people": (1_000, 10_000, 100_000, 1_000_000),
    "populations.growth": (100_000, 1_000_000, 10_000_000),
    "batches.growth_in_runs": (1_000, 10_000, 100_000),
}
OF_STUDY = ("wan2015", "agents")
_ROW = re.compile(r"^\| `(\w+)\.py` \| .*?\| `([^`]+)` \| \d+ \|$", re.MULTILINE)


def settings() -> dict[str, list[str]]:
    """Return the small settings of each benchmark, as README.md has them."""
    rows = _ROW.findall((FOLDER / "README.md").read_text(encoding="utf-8"))
    return {name: shlex.split(given) for name, given in rows}


def measured(name: str, given: list[str]) -> dict[str, Any]:
    """Run a benchmark in this process, which does nothing else."""
    sys.argv = [f"{name}.py", *given]
    importlib.import_module(name).main()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "figures": figures.FIGURES,
        "seconds": sum(each.ru_utime + each.ru_stime for each in used),
        "mib": max(each.ru_maxrss for each in used) / 1024,
    }


def growth(works: Sequence[str], divisor: int) -> list[tuple[str, int, float]]:
    """Let some works grow in this process, to their sizes of `GROWTH` divided by some number."""
    study = importlib.import_module("wan2015").build_study(Scenario.load("wan2015"))
    for work in works:
        name, function = work.split(".")
        grow = getattr(importlib.import_module(name), function)
        given = (study,) if name in OF_STUDY else ()
        sizes = [max(size // divisor, min(size, 10)) for size in GROWTH[work]]
        # The first time, compiled code is read from disk.
        before = len(figures.GROWTH)
        grow(*given, sizes[:1])
        del figures.GROWTH[before:]
        grow(*given, sizes)
    return figures.GROWTH


def alone(work: Any, *given: Any) -> Any:
    """Return the result of a function run in its own process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *given).result()


def by_work(points: list[tuple[str, int, float]]) -> dict[str, tuple[list[int], list[float]]]:
    """Return the sizes and the seconds of each work."""
    grown: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for work, size, seconds in points:
        grown[work][0].append(size)
        grown[work][1].append(seconds)
    return dict(grown)


def draw(grown: dict[str, tuple[list[int], list[float]]], path: Path) -> None:
    """Draw seconds over sizes on log axes, one panel per work, with a dashed line of proportional growth.

    The smallest and the largest size are labelled with their times. No power law is fitted: fixed costs dominate most
    times below a second, which have a grey ground.
    """
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter, LogLocator

    from reidsim.figures import style

    columns = 5 if len(grown) % 5 == 0 else 4
    picture, all_axes = style.panels(len(grown), columns, panel=(8.8 / columns, 1.9), sharey=True)
    every = [each for _, seconds in grown.values() for each in seconds]
    for number, (axes, (work, (sizes, seconds))) in enumerate(zip(all_axes, grown.items(), strict=True)):
        axes.axhspan(1e-9, 1, color=_GROUND, linewidth=0, zorder=0)
        linear = seconds[-1] * np.array(sizes) / sizes[-1]
        proportional = axes.loglog(sizes, linear, color="0.5", linestyle="--", linewidth=1, label="proportional growth")
        own = axes.loglog(sizes, seconds, color="#0072B2", marker="o", markersize=4, label="measured")
        # The times are beside the axis, where no line is.
        for at, (place, side) in zip((0.03, 0.97), ((0, "left"), (-1, "right")), strict=True):
            axes.text(at, 0.97, _seconds(seconds[place]), transform=axes.transAxes, ha=side, va="top", fontsize=9)
        does, quantity = work.replace("`", "").split(" over ")
        axes.xaxis.set_major_locator(LogLocator(numticks=4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: _size(size)))
        style.label_axes(axes, title=does, x=quantity.capitalize(), y="Seconds" if number % columns == 0 else "")
    all_axes[0].set_ylim(min(every) / 3, max(every) * 30)
    style.write_out(all_axes[0].yaxis)
    ground = Patch(color=_GROUND, label="mostly fixed costs")
    style.legend_below(picture, [*own, *proportional, ground])
    style.save_figure(picture, path)


def _size(size: float) -> str:
    """Return a size as text: ``"10k"``, ``"1M"``."""
    return f"{size / 1e6:g}M" if size >= 1e6 else f"{size / 1e3:g}k" if size >= 1e3 else f"{size:g}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def place() -> str:
    """Return the machine, the date and the commit."""
    cpu = Path("/proc/cpuinfo")
    models = re.findall(r"^model name\s*: (.+)$", cpu.read_text(), re.MULTILINE) if cpu.is_file() else []
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        cwd=FOLDER, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    return (
        f"{os.cpu_count()} cores, {models[0] if models else platform.processor()}, Python {platform.python_version()}, "
        f"commit {commit}, {datetime.now(UTC):%Y-%m-%d}, load {os.getloadavg()[1]:.1f} over the last five minutes"
    )


def page(
    ran: dict[str, dict[str, Any]],
    lacking: list[str],
    grown: dict[str, tuple[list[int], list[float]]],
) -> str:
    """Return the page as Markdown."""
    lines = [
        "# Performance",
        "",
        "Each benchmark compares reidsim with a reference in one run: a plain implementation, another program, or the",
        "same work in another way. The ratio is the reference's time over ours; where it is *at most* a bound, ours",
        "over the reference's. Settings are small and compiled code is ready; a load above the number of cores makes",
        "times longer and ratios less exact. Rows in bold are whole benchmarks, with their peak memory;",
        "`benchmarks/README.md` lists the content and the settings of each. This page is the output of",
        "`python benchmarks/all.py`.",
        "",
        f"Measured on {place()}.",
        "",
        "| Work | Ours, s | Reference, s | Ratio |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, found in ran.items():
        lines.append(f"| **`{name}.py`**, {found['mib']:,.0f} MiB | {found['seconds']:.1f} | | |")
        for row in found["figures"]:
            wanted = f" (at most {row['to_reach']:g})" if row["at_most"] and row["to_reach"] else ""
            lines.append(
                f"| {row['work']} | {row['seconds']:.3g} | {row['against']} {row['reference_seconds']:.3g} | "
                f"{_ratio(row['ratio'])}{wanted} |"
            )
    if lacking:
        names = ", ".join(f"`{name}.py`" for name in lacking)
        lines += ["", f"Not run, because requirements are missing on that machine: {names}."]
    lines += [
        "",
        "## Growth",
        "",
        "Seconds by size, with the times of the smallest and the largest size. Along the dashed lines twice the size",
        "takes twice the time. Times below a second are mostly fixed costs and do not show growth.",
        "",
        f"![Seconds over size on log axes](../{PICTURE})",
        "",
        "| Work | Sizes | Seconds |",
        "| --- | --- | --- |",
    ]
    for work, (sizes, seconds) in grown.items():
        size, took = (", ".join(f"{each:,}" for each in sizes), ", ".join(f"{each:.3g}" for each in seconds))
        lines.append(f"| {work} | {size} | {took} |")
    return "\n".join(lines) + "\n"


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2f}"


def main() -> None:
    """Run everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(settings()), help="benchmarks, instead of all")
    parser.add_argument("--grow", nargs="+", choices=sorted(GROWTH), help="works, instead of all")
    parser.add_argument("--divisor", type=int, default=1, help="of the sizes to which they grow")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER.parent / "docs", help="folder of the documentation")
    options = parser.parse_args()
    begun, found = time.perf_counter(), settings()
    chosen = options.only or list(found)
    ran = {}
    for name in chosen:
        print(f"{name}:", flush=True)
        try:
            ran[name] = alone(measured, name, found[name])
        except SystemExit as stop:
            # A benchmark with missing requirements has printed them.
            if stop.code != 2:
                raise
    lacking = [name for name in chosen if name not in ran]
    print("growth:", flush=True)
    grown = by_work(alone(growth, list(GROWTH) if options.grow is None else options.grow, options.divisor))
    picture, text = options.output / PICTURE, options.output / "reference" / "performance.md"
    for path in (picture, text):
        path.parent.mkdir(parents=True, exist_ok=True)
    draw(grown, picture)
    text.write_text(page(ran, lacking, grown), encoding="utf-8")
    print(f"{len(ran)} benchmarks in {time.perf_counter() - begun:,.0f} s")


if __name__ == "__main__":
    main()
