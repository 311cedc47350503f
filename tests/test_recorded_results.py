"""Numbers of many small studies, compared with recorded values.

A failure means that numbers or texts that a user sees have changed: in a table, manifest, file, page or figure. If the
change is intended, write the file anew and read its difference:

    WRITE_RECORDED_RESULTS=1 python -m pytest -n0 --deep tests/test_recorded_results.py
    git diff tests/recorded_results.json

Numbers of tables, JSON files and figures are compared to a relative 1e-9, cells of CSV files as text. Of sentences and
pages only the numbers are recorded. Versions, running times and hashes are left out. `tools/golden.py` compares the
bundled scenarios before and after a change instead, and needs no recorded file.
"""

import json
import math
import os
import re
import shlex
import tomllib
import zlib
from pathlib import Path

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedFormatter
from small_scenarios import SCENARIOS, write_files

import reidsim
from reidsim.reports.drawing import illustrate

pytestmark = pytest.mark.deep
FILE = Path(__file__).with_name("recorded_results.json")
WRITING = "WRITE_RECORDED_RESULTS"
# Keys and columns that depend on the machine, the versions of packages or the path of a file.
UNRECORDED = re.compile(
    r"(^|_)(run|hash|sha256|versions?|written_by|reidsim|timings|seconds|runtimes?|path|file|data|tables)(_|$)"
)
# Embedded files, hashes and keys of runs (which depend on the source code), days, versions and running times.
UNRECORDED_TEXT = re.compile(
    r'<style>.*?</style>|"data:[^"]*"|(?<![\d.])(?=[0-9a-f]*[a-f])[0-9a-f]{16,64}\b|'
    r"\b\d{4}-\d\d-\d\d\b|\bon \d{1,2} [A-Z][a-z]+ \d{4}\b|\d+\.\d+\.\d+\S*|[\d.,]+ (?:s|seconds)\b",
    re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.])-?(?:[1-9]\d{0,2}(?:,\d{3})+(?![\d,])|0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?")
# Longer columns are recorded by their first and last values and checksums.
LONGEST = 12

# Commands by the scenario of `small_scenarios.py` that they use, which is `made.toml`.
RUN = "run made.toml -o out"
BATCH = f"{RUN} --executor serial"
MORE = {
    "records": (
        "check made.toml", "explain made.toml", "report out --break-even -o page.html",
        "share out --policy no-attack -o shared.csv --rulebook rules.csv --accept-risk --keep disease "
        "--unknown-to-outsiders disease",
        "share --verify shared.csv", "apply rules.csv half.csv -o new.csv", "report out --no-break-even -o shared.html",
        "share out --policy no-attack -o keyed.csv --accept-risk --keep-identifier weight "
        "--unknown-to-outsiders weight",
        "score keyed.csv --scenario made.toml --key weight -o scored", "switch made.toml -o switched",
        "switch made.toml --key economics.cost --from 5 --to 90 -o cost", "attributes made.toml -o shares",
        "cross-play made.toml --equilibrium --measure regret -o played",
        "report played -o played.html", "run made.toml -o again --json --seed 9 --set economics.loss=90",
        "share out --policy basic -o refused.csv --max-risk 0.01",
    ),
    "people": ("report out --break-even -o page.html", "share out --policy basic -o shared.csv --accept-risk"),
    "table": (
        "report out --break-even -o page.html", "switch made.toml --link-gain -o switched",
        "cross-play made.toml --double-oracle general-sum -o played",
    ),
    "sensitive column, records": ("report out --no-break-even -o page.html",),
    "market": ("explain made.toml", "report out --no-break-even -o page.html"),
    "masking": ("report out --no-break-even -o page.html",),
    "risk, estimated": ("report out -o page.html",),
    "dynamic": ("report out --no-break-even -o page.html",),
    "participation, pedigree": ("report out -o page.html",),
}  # fmt: skip
SWEEP = '--set \'sweep.values={"economics.loss" = [100, 400], "economics.cost" = [20, 60]}\''
APART = '--set \'sweep.one_at_a_time=["economics.loss", "economics.cost"]\''
UNCERTAIN = (
    '--set \'uncertainty={samples = 4, parameters = {"economics.loss" = {distribution = "uniform", low = 50, '
    'high = 500}, "economics.cost" = {distribution = "uniform", low = 1, high = 90}}}\''
)
STRESS = (
    "--set 'stress={sensitivity = {samples = 4, resamples = 20}, robustness = {quantile = 0.2}, "
    'discovery = {output = "publisher_payoff", below = 40}, beliefs = [{key = "economics.cost", '
    'true = {from = 0, to = 90, points = 3}}, {key = "economics.cost", believed = [5, 40, 90]}], '
    'map = {x = {key = "economics.loss", values = [50, 400]}, y = {key = "economics.cost", values = [5, 40]}}}\''
)
# Further studies: the scenario and its commands.
STUDIES = {
    **{name: (name, (RUN, *MORE.get(name, ()))) for name in SCENARIOS},
    "batch": ("records", (
        f"{BATCH} {SWEEP}", "rerun out --run 1/0 -o repeated", "report out -o page.html",
        "cross-play made.toml --executor serial -o played --set replications=2",
    )),
    "one at a time": ("table", (f"{BATCH} {SWEEP} {APART}",)),
    "uncertain": ("random", (
        f"{BATCH} {UNCERTAIN}", f"stress made.toml --executor serial -o stressed {UNCERTAIN} {STRESS}",
        f"stress made.toml --executor serial --method morris --samples 3 -o screened {UNCERTAIN}",
        "report stressed -o page.html",
    )),
    "draft": ("records", (
        "new people.csv -o draft --loss 200 --cost 30", "run draft/people.toml -o out",
        "new people.csv -o other --only-named --quasi-identifier age --quasi-identifier disease --person pid",
        "new town.csv -o town --population town.toml --one-row-per-person --drop sex",
    )),
    "data": ("records", (
        "describe people.csv --column age --column sex --population-size 900",
        "describe people.csv --column zip --column sex --weight weight",
        "populate drawn.toml -o drawn.parquet --seed 4", "populate town.toml -o town.parquet",
        "check made.toml --set economics.loss=-3", "list",
    )),
}  # fmt: skip
# Their figures are of the same sorts as the figures of "records", "agents" or "table".
WITHOUT_FIGURES = {
    "agents, sampling", "data", "draft", "dynamic, agents", "lists", "logit", "masking, agents", "masking, drawn",
    "partial knowledge", "people", "prospects", "random", "records, whole-table policies", "sample",
    "sensitive column, records", "sensitive column, table", "sequential", "several adversaries", "table, anytime",
    "table, journalist",
}  # fmt: skip


def in_python(folder):
    """Yield the results of the verbs in Python by name."""
    frame = pd.read_csv(folder / "people.csv").drop(columns=["pid", "home"]).head(16)
    scenario = reidsim.Scenario.from_frames(
        frame,
        hierarchies={"age": reidsim.intervals(5, 20), "sex": "suppress", "zip": reidsim.prefix(4, 3)},
        benefit=100, loss=300, gain=60, cost=25, seed=3, policies=["basic", "no-attack", "k-anonymity"],
    )  # fmt: skip
    yield "run", scenario.run()
    yield "sweep", scenario.sweep(loss=[50, 300], cost=[5, 25], one_at_a_time=True)
    yield "batch", scenario.with_(replications=2, policies=["basic"]).batch(executor="serial")
    yield "stress", scenario.stress(loss=(100, 500), cost=(5, 50), samples=4)
    yield "cross-play", scenario.cross_play(attack_rate=0.3, double_oracle="zero-sum")
    yield "switch", scenario.switch("loss", low=20, high=900)
    yield "attributes", scenario.attributes()
    yield "rounds", scenario.rounds(2)
    yield "new", reidsim.new(frame, quasi_identifiers=["disease"], cost=30).run()


@pytest.fixture(scope="module")
def recorded():
    """Return the recorded results by study; at the end, write those of the studies that were played, if requested."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    yield content
    if WRITING in os.environ:
        assert "PYTEST_XDIST_WORKER" not in os.environ, "several processes would overwrite the file: use -n0"
        kept = {study: content[study] for study in (*STUDIES, "python") if study in content}
        FILE.write_text(as_text(kept) + "\n", encoding="utf-8")


@pytest.fixture
def drawn(monkeypatch):
    """Return a list that receives the data of every figure that is saved, without its pixels; stop the clock."""
    figures = []

    def save(figure, path, **options):
        figures.append([data_of_axes(axes) for axes in figure.axes])
        path.write_bytes(b"") if isinstance(path, Path) else path.write(b"")

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", save)
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)
    return figures


@pytest.mark.parametrize("study", STUDIES)
def test_the_commands_of_a_study_give_the_recorded_results(recorded, study, folder, drawn, reidsim_):
    scenario, commands = STUDIES[study]
    write_files(folder)
    (folder / "made.toml").write_text(SCENARIOS[scenario], encoding="utf-8")
    found = {}
    for number, command in enumerate(commands, start=1):
        before, drawn[:] = {*folder.rglob("*")}, []
        code, out, err = reidsim_(*shlex.split(command))
        for manifest in [] if study in WITHOUT_FIGURES else sorted({*folder.rglob("manifest.json")} - before):
            illustrate(reidsim.load_result(manifest.parent), manifest.parent / "figures")
        files = {
            path.relative_to(folder).as_posix(): path
            for path in sorted({*folder.rglob("*")} - before)
            if path.is_file()
        }
        found[f"{number} {command.split()[0]}"] = {
            "code": code, "out": numbers_of(out.replace(str(folder), "")), "err": numbers_of(err) if code else [],
            "figures": list(drawn), "files": {name: content_of(path) for name, path in files.items()},
        }  # fmt: skip
    assert_recorded(recorded, study, found)


def test_the_verbs_in_python_give_the_recorded_results(recorded, folder, drawn):
    write_files(folder)
    found = {"describe": plain(vars(reidsim.describe(folder / "people.csv", population_size=500)))}
    for name, result in in_python(folder):
        found[name] = {
            "tables": {key: table_of(each) for key, each in result.stored_tables().items()},
            "manifest": plain(result.manifest), "warnings": plain(list(result.warnings)),
            "summary": table_of(result.summary.reset_index()) if hasattr(result, "summary") else None,
            "figure": [data_of_axes(axes) for axes in result.plot().axes],
        }  # fmt: skip
    assert_recorded(recorded, "python", found)


def test_every_study_is_recorded(recorded):
    assert recorded.keys() == {*STUDIES, "python"}


def assert_recorded(recorded, study, found):
    found = json.loads(json.dumps(found))
    if WRITING in os.environ:
        recorded[study] = found
    lines = list(differences(recorded[study], found))
    assert not lines, "\n".join(["results differ from the recorded ones (see the docstring of the module)", *lines[:8]])


def differences(before, now, place=""):
    """Yield each difference of recorded results, with its place."""
    if isinstance(before, dict) and isinstance(now, dict):
        if list(before) != list(now):
            yield f"{place}: {list(before)} before, {list(now)} now"
        for key in before.keys() & now.keys():
            yield from differences(before[key], now[key], f"{place}/{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, other, f"{place}/{number}")
    elif not (before == now or (is_number(before) and is_number(now) and math.isclose(
        before, now, rel_tol=1e-9, abs_tol=1e-12
    ))):  # fmt: skip
        yield f"{place}: {str(before)[:300]} before, {str(now)[:300]} now"


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def content_of(path):
    """Return the recorded content of a file; nothing of an image."""
    if path.suffix == ".parquet":
        return table_of(pd.read_parquet(path))
    if path.suffix == ".csv":
        return table_of(pd.read_csv(path, dtype=str, keep_default_na=False))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return plain(json.loads(text))
    comments = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    return [plain(tomllib.loads(text)), numbers_of(comments)] if path.suffix == ".toml" else numbers_of(text)


def table_of(table):
    if "measure" in table:
        table = table[[not UNRECORDED.search(str(measure)) for measure in table["measure"]]]
    kept = [name for name in table if not UNRECORDED.search(str(name))]
    columns = {str(name): shortened([plain(value) for value in table[name].tolist()]) for name in kept}
    return {"rows": len(table), **columns}


def shortened(values):
    """Return values, or the first and last of many with checksums that depend on their order."""
    if len(values) <= LONGEST:
        return values
    numbers = np.array([value if is_number(value) else 0.0 for value in values], dtype=float)
    texts = zlib.crc32(json.dumps([None if is_number(value) else value for value in values]).encode())
    sums = [float(numbers.sum()), float(numbers @ np.sqrt(np.arange(1, len(numbers) + 1)))]
    return [*values[:3], *values[-1:], len(values), *map(plain, sums), texts]


def plain(value):
    """Return a value as plain data with 12 digits; of a sentence only its numbers."""
    if isinstance(value, dict):
        # The tables of a manifest are given by their hashes.
        return {str(key): plain(each) for key, each in value.items() if not UNRECORDED.search(str(key))}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else str(value) if math.isinf(value) else json.loads(f"{value:.12g}")
    text = str(value)
    return numbers_of(text) if text.count(" ") > 3 else text


def numbers_of(text):
    return [json.loads(number.replace(",", "")) for number in NUMBER.findall(UNRECORDED_TEXT.sub(" ", text))]


def data_of_axes(axes):
    """Return the data of the artists of a figure's axes, and the numbers of its texts."""
    legend = axes.get_legend()
    texts = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *(text.get_text() for text in axes.texts)]
    texts += [] if legend is None else [text.get_text() for text in legend.get_texts()]
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_formatter(), FixedFormatter):
            texts += axis.get_major_formatter().seq
    bars = [[*bar.get_xy(), bar.get_width(), bar.get_height()] for bar in axes.patches if isinstance(bar, Rectangle)]
    points = [points_of(each) for each in axes.collections]
    images = [np.ma.filled(np.ma.asarray(each.get_array(), dtype=float), np.nan).ravel() for each in axes.images]
    return {
        "lines": [shortened(plain(np.asarray(each, dtype=float))) for line in axes.lines for each in line.get_data()],
        "bars": plain(bars), "points": [shortened(plain(each)) for each in points],
        "images": [shortened(plain(each)) for each in images], "texts": numbers_of("\n".join(texts)),
    }  # fmt: skip


def points_of(collection):
    """Return the coordinates of points, or of the vertices of lines and areas, in a single row."""
    if isinstance(collection, PathCollection):
        return np.ma.filled(collection.get_offsets(), np.nan).ravel()
    return np.concatenate([np.empty((0, 2)), *(path.vertices for path in collection.get_paths())]).ravel()


def as_text(content, indent=""):
    """Return JSON with a line for each list, so that differences are readable."""
    if not isinstance(content, dict) or not content:
        return json.dumps(content)
    deeper = f"{indent} "
    lines = [f"{deeper}{json.dumps(key)}: {as_text(content[key], deeper)}" for key in content]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
