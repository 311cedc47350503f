"""Every benchmark at the small settings of README.md, one process each, and the page docs/performance.md.

Run by hand, on an idle machine: ``python benchmarks/all.py``. Seconds of a whole benchmark are of the processor, its
children included; those of a figure and of growth are what the benchmark measures.
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
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import figures
import numpy as np

FOLDER = Path(__file__).resolve().parent
PICTURE = "figures/performance-growth.png"
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


def growth(records: list[int], subjects: list[int], people: list[int]) -> list[tuple[str, int, float]]:
    """Let the work of three games and populations grow, in this process."""
    masking, populations, wan2015 = map(importlib.import_module, ("masking", "populations", "wan2015"))
    study = wan2015.build_study(wan2015.load_scenario("wan2015"))
    # The first time, compiled code is read from disk.
    for upto in (1, None):
        figures.GROWTH.clear()
        wan2015.growth_in_records(study, records[:upto])
        masking.growth_in_subjects(subjects[:upto])
        populations.growth(people[:upto])
    return figures.GROWTH


def alone(work: Any, *given: Any) -> Any:
    """Return what a function returns in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *given).result()


def exponents(points: list[tuple[str, int, float]]) -> dict[str, tuple[list[int], list[float], float]]:
    """Return by work the sizes, the seconds and the exponent of a power law fitted to them."""
    by_work: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for work, size, seconds in points:
        by_work[work][0].append(size)
        by_work[work][1].append(seconds)
    return {
        work: (sizes, seconds, float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]))
        for work, (sizes, seconds) in by_work.items()
    }


def draw(grown: dict[str, tuple[list[int], list[float], float]], path: Path) -> None:
    """Draw seconds over sizes on log axes."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(7, 4.2), layout="constrained")
    axes = picture.subplots()
    for (work, (sizes, seconds, exponent)), marker in zip(grown.items(), "osd^v", strict=False):
        axes.loglog(sizes, seconds, marker=marker, label=f"{work}: exponent {exponent:.2f}")
    axes.set_xlabel("size")
    axes.set_ylabel("seconds")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    picture.savefig(path, dpi=120)


def place() -> str:
    """Say on what machine, when, and at what commit."""
    told = Path("/proc/cpuinfo")
    models = re.findall(r"^model name\s*: (.+)$", told.read_text(), re.MULTILINE) if told.is_file() else []
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
    grown: dict[str, tuple[list[int], list[float], float]],
) -> str:
    """Return the page as Markdown."""
    lines = [
        "# Performance",
        "",
        "Each benchmark compares reidsim with a reference in one run: a plain implementation, another program, or the",
        "same work in another way. The ratio is the reference's time over ours; where it is *at most* a bound, ours",
        "over the reference's. Settings are small and compiled code is ready; a load above the number of cores makes",
        "times longer and ratios less exact. Rows in bold are whole benchmarks, with their peak memory;",
        "`benchmarks/README.md` lists what each shows, and its settings. This page is the output of",
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
        lines += ["", f"Left out for lack of what they need on that machine: {names}."]
    lines += [
        "",
        "## Growth",
        "",
        "Time grows as the size to the power of the exponent: 1 means that twice the size takes twice the time.",
        "",
        f"![Seconds over size on log axes]({PICTURE})",
        "",
        "| Work | Sizes | Seconds | Exponent |",
        "| --- | --- | --- | ---: |",
    ]
    for work, (sizes, seconds, exponent) in grown.items():
        size, took = (", ".join(f"{each:,}" for each in sizes), ", ".join(f"{each:.3g}" for each in seconds))
        lines.append(f"| {work} | {size} | {took} | {exponent:.2f} |")
    return "\n".join(lines) + "\n"


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2f}"


def main() -> None:
    """Run everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(settings()), help="benchmarks, instead of all")
    parser.add_argument("--records", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--subjects", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--people", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("-o", "--output", type=Path, default=FOLDER.parent / "docs", help="folder of the page")
    options = parser.parse_args()
    begun, found = time.perf_counter(), settings()
    chosen = options.only or list(found)
    ran = {}
    for name in chosen:
        print(f"{name}:", flush=True)
        try:
            ran[name] = alone(measured, name, found[name])
        except SystemExit as stop:
            # Of a benchmark that lacks what it needs, and has said so.
            if stop.code != 2:
                raise
    lacking = [name for name in chosen if name not in ran]
    print("growth:", flush=True)
    grown = exponents(alone(growth, options.records, options.subjects, options.people))
    (options.output / PICTURE).parent.mkdir(parents=True, exist_ok=True)
    draw(grown, options.output / PICTURE)
    (options.output / "performance.md").write_text(page(ran, lacking, grown), encoding="utf-8")
    print(f"{len(ran)} benchmarks in {time.perf_counter() - begun:,.0f} s")


if __name__ == "__main__":
    main()
