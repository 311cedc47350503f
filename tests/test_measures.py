"""Every column of a run is a measure object, and all displays use its texts."""

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from found import at_least

import reidsim
from reidsim.agents.attack import ROUND_MEASURES
from reidsim.core.errors import InputError
from reidsim.core.wording import Measure, columns_of, measures_among
from reidsim.engine.batch.design import GROUP_COLUMNS
from reidsim.engine.batch.statistics import ERROR
from reidsim.engine.results import RUN_COLUMNS, make_manifest, write_json
from reidsim.engine.stress.analyses import Outcomes
from reidsim.engine.stress.run import Evaluator, describe, outputs_among
from reidsim.games.cross_play import CROSS_PLAY_MEASURES
from reidsim.games.outcomes import MEASURES, RECORD_RISK, RISK_QUANTILE, SUCCESS_PROBABILITY
from reidsim.kinds.tables import kind as tables_kind
from reidsim.kinds.tables.kind import TABLES, TablesKind
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.reports.page.report import report_text
from reidsim.scenarios import registry
from reidsim.scenarios.kind import find_kind, kind_of
from reidsim.scenarios.registry import kinds
from reidsim.scenarios.scenario import Scenario

TESTS = Path(__file__).parent
TOWN = TESTS / "scenarios" / "town" / "town.toml"
OF_KINDS = {name: find_kind(name).measures for name in at_least(3, kinds.names)}
TOLD = [(name, measure) for name, measures in OF_KINDS.items() for measure in measures]
TOLD += [("elsewhere", each) for each in (*ROUND_MEASURES, *CROSS_PLAY_MEASURES)]
TOLD += [("elsewhere", each) for each in (RISK_QUANTILE, RECORD_RISK, SUCCESS_PROBABILITY)]
# Columns that identify a run, its end state and its method.
_NOT_MEASURES = {*RUN_COLUMNS, *GROUP_COLUMNS, "run", "error", "method"}


# Words.


@pytest.mark.parametrize(("kind", "measure"), at_least(50, TOLD))
def test_a_measure_has_a_label_a_format_and_a_definition(kind, measure):
    assert measure.column.isidentifier()
    assert measure.label[0].isupper()
    assert measure.in_text[1:] == measure.label[1:]
    assert measure.in_text[0].islower()
    assert any(digit in measure.text(0.5) for digit in "05")
    assert measure.text(np.nan) == "-"
    assert measure.text(-1e-15) == measure.format.format(0.0)
    assert measure.definition.split()
    assert not measure.definition.endswith(".")
    assert measure.definition != measure.label


@pytest.mark.parametrize("measures", [*OF_KINDS.values(), ROUND_MEASURES, CROSS_PLAY_MEASURES])
def test_columns_and_labels_are_told_apart(measures):
    assert len(set(columns_of(measures))) == len(measures)
    assert len({measure.label for measure in measures}) == len(measures)


def test_kinds_differ_in_words_of_a_measure_and_never_in_its_format():
    formats = {measure.column: measure.format for measure in MEASURES}
    for name, measure in TOLD:
        assert measure.format == formats.setdefault(measure.column, measure.format), name


# Columns of runs.


def orphans(kind, runs, points=()):
    """Return the numeric columns of runs that no measure of a kind explains."""
    numbers = {name for name in runs.columns if pd.api.types.is_numeric_dtype(runs[name].dtype)}
    swept = {name for name in numbers if "." in name}
    errors = {name for name in numbers if name.endswith(ERROR)}
    return numbers - _NOT_MEASURES - swept - errors - set(points) - set(columns_of(OF_KINDS[kind]))


@pytest.mark.parametrize(
    ("kind", "scenario", "overrides", "several"),
    [
        ("tables", TOWN, {}, False),
        ("tables", TOWN, {"agents": {"rounds": 2}}, False),
        ("tables", TOWN, {"publisher": {"policies": ["basic"], "solver": "lattice-search"}}, True),
        ("tables", TOWN, {"adversary.planner": "fmdp"}, True),
        pytest.param("masking", "wan2021-case", {"subjects.policies": ["opt-in"]}, False, marks=pytest.mark.deep),
        ("risk", "xia2021", {"release.sizes": [60], "release.samples": 1, "figures": {}}, False),
        ("participation", "guo2023", {"population.types": 50}, False),
    ],
)
def test_every_number_of_a_run_is_a_measure_of_its_kind(kind, scenario, overrides, several):
    runs = (reidsim.run_batch if several else reidsim.run)(scenario, overrides=overrides).runs
    at_least(4, measures_among(OF_KINDS[kind], runs.columns))
    assert orphans(kind, runs) == set()


# A measure of a user-defined kind.


class RaffleScenario(TablesScenario):
    """A table scenario with one additional measure."""

    game: Literal["raffle"] = "raffle"


LUCK = Measure("luck", "Luck of the draw", "{:.1f} clover", "leaves of the clover found, per record")


class RaffleKind(TablesKind):
    name = "raffle"
    schema = RaffleScenario
    measures = (*TABLES.measures, LUCK)


RAFFLE = RaffleKind()


@pytest.fixture
def raffle(monkeypatch, tmp_path):
    """Return a scenario of a kind with its own measure."""
    monkeypatch.setattr(tables_kind, "RAFFLE", RAFFLE, raising=False)
    entry = EntryPoint("raffle", "reidsim.kinds.tables.kind:RAFFLE", "reidsim.kinds")
    monkeypatch.setitem(registry.kinds._parts, "raffle", entry)
    path = tmp_path / "raffle.toml"
    path.write_text(f'extends = "{TOWN.as_posix()}"\ngame = "raffle"\n')
    return Scenario.load(path)


RUNS = pd.DataFrame(
    {
        "scenario": "raffle", "point": 0, "replication": 0, "policy": ["basic", "no-attack"],
        "publisher_payoff": [2.0, 1.0], "share_attacked": 0.0, "risk": 0.0, "luck": [4.0, 3.0], "unknown": 7.25,
        "state": "complete", "seed": 1,
    }
)  # fmt: skip


def test_the_report_explains_a_measure_of_an_own_kind(raffle, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    RUNS.to_parquet(folder / "runs.parquet")
    write_json(folder / "manifest.json", {**make_manifest(raffle, {}, {"records": 4}), "figures": [], "warnings": []})
    text = report_text(folder)
    assert LUCK.label in text
    assert LUCK.definition in text
    assert "4.0 clover" in text
    assert "7.25" not in text


UNCERTAIN = {
    "uncertainty": {
        "samples": 2, "parameters": {"economics.cost": {"distribution": "uniform", "low": 1, "high": 2}}
    }
}  # fmt: skip


def test_a_stress_test_takes_a_measure_of_an_own_kind_as_output_and_nothing_else(raffle, monkeypatch):
    def checked(output):
        describe(Scenario.load(raffle.path, {**UNCERTAIN, "stress": {"outputs": [output]}}))

    checked("luck")
    with pytest.raises(InputError, match=r"stress\.outputs: not an output of game 'raffle'.*found 'usefulness'"):
        checked("usefulness")
    with pytest.raises(InputError, match=r"found 'lukc'.*one of .*luck.*did you mean 'luck'"):
        checked("lukc")
    assert outputs_among(kind_of(raffle.scenario).measures)[-2:] == (LUCK, RISK_QUANTILE)
    monkeypatch.setattr("reidsim.engine.stress.run.evaluate", lambda *_, **__: {"runs": RUNS.assign(error=None)})
    found = Evaluator(raffle, ("basic", "no-attack"), 0.95).by_batch(
        pd.DataFrame({"economics.cost": [1.0]}), "informed"
    )
    assert found.matrix("luck", ("no-attack", "basic"), 1).tolist() == [[3.0], [4.0]]
    assert "unknown" not in found.table


def test_an_output_that_no_run_has_is_told():
    found = Outcomes(pd.DataFrame({"point": [0], "policy": ["basic"], "risk": [0.5]}), pd.DataFrame())
    with pytest.raises(InputError, match=r"no run of the scenario has this output; found 'participation'.*one of risk"):
        found.matrix("participation", ("basic",), 1)


def test_the_report_of_a_kind_that_is_not_installed_is_refused(raffle, tmp_path, monkeypatch):
    test_the_report_explains_a_measure_of_an_own_kind(raffle, tmp_path)
    monkeypatch.delitem(registry.kinds._parts, "raffle")
    with pytest.raises(InputError, match=r"results: game: value not allowed; found 'raffle'"):
        report_text(tmp_path / "results")
