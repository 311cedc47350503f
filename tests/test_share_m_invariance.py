"""`reidsim share` of m-invariant releases: only the sidecar marks counterfeits."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from shared_files import unknown
from tiers import examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.results import sidecar_of
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.file import share_run, verify_shared

SCENARIO = """
title = "A registry"
[release]
path = "registry.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [2, 4] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 300
gain = 60
cost = 25
[adversary]
risk = "prosecutor"
[publisher]
policies = ["basic", "m-invariance"]
sensitive = "diagnosis"
[releases]
enters = "year"
leaves = "withdrawn"
"""
# Three waves; in the last, 33,F,cancer has no other diagnosis in its class.
REGISTRY = """age,sex,year,withdrawn,diagnosis
30,F,2024,,flu
30,M,2024,2025,asthma
31,F,2024,,cancer
31,M,2024,,flu
32,F,2024,2026,asthma
33,F,2024,,cancer
30,F,2025,,asthma
31,M,2025,2026,flu
32,M,2025,,cancer
33,M,2025,,asthma
32,F,2026,,flu
33,F,2026,,cancer
"""
QUASI = ["age", "sex"]


def results_of(folder, registry, **changes):
    (folder / "registry.csv").write_text(registry)
    (folder / "registry.toml").write_text(SCENARIO)
    return reidsim.run(folder / "registry.toml", overrides=changes).save(folder / "out")


def shared_by(results, path, *, kept=None, **options):
    return share_run(
        open_results(results), path, policy="m-invariance", kept=kept or unknown("diagnosis"), accept_risk=True,
        **options,
    )  # fmt: skip


@pytest.fixture
def command(reidsim_):
    """Return a function that runs `reidsim share` on results and joins printed lines."""

    def run(results, path):
        options = ["--policy", "m-invariance", "--keep", "diagnosis", "--accept-risk"]
        code, *printed = reidsim_("share", results, "-o", path, *options)
        return code, *(" ".join(text.split()) for text in printed)

    return run


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of(tmp_path_factory.mktemp("registry"), REGISTRY)


def test_counterfeits_are_in_the_file_and_marked_in_the_sidecar(results, tmp_path):
    sidecar, warnings = shared_by(results, tmp_path / "shared.csv")
    table, records = pd.read_csv(tmp_path / "shared.csv"), pd.read_csv(results.parent / "registry.csv")
    assert list(table.columns) == [*QUASI, "diagnosis"]
    assert (table.groupby(QUASI)["diagnosis"].nunique() >= 2).all()
    marked = np.array(sidecar["counterfeits"]["rows"]) - 1
    assert len(marked) == sidecar["counterfeits"]["number"] == 2
    real = records[(records["year"] <= 2026) & records["withdrawn"].isna()]
    assert sidecar["records"] == {"release": 12, "shared": 9, "withheld": 3}
    # Without the marked rows, the diagnoses equal the diagnoses of the records released in the last wave.
    assert sorted(table["diagnosis"].drop(marked)) == sorted(real["diagnosis"])
    assert table.drop(marked).groupby(QUASI).size().min() == 1
    # The position of a row does not reveal a counterfeit.
    assert table.sort_values(list(table.columns)).index.is_monotonic_increasing
    assert verify_shared(tmp_path / "shared.csv") == sidecar
    assert any("counterfeit" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kept": unknown("sex")}, "expected diagnosis"),
        ({"kept": unknown("diagnosis", "year")}, "--keep.*found 'year'"),
        ({"rulebook": "rules.csv"}, "--rulebook"),
    ],
)
def test_what_would_break_the_protection_is_refused(results, tmp_path, options, message):
    if "rulebook" in options:
        options["rulebook"] = tmp_path / options["rulebook"]
    with pytest.raises(InputError, match=message):
        shared_by(results, tmp_path / "shared.csv", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.deep
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda rounds, rows: (rounds.drop(columns="counterfeits"), rows), "run the scenario again"),
        (lambda rounds, rows: (rounds, rows.iloc[:1]), "found 1; expected 2"),
        # Both counterfeits then have a value that their class already has.
        (lambda rounds, rows: (rounds, rows.assign(value_of=rows["record"])), "would not protect column 'diagnosis'"),
    ],
)
def test_nothing_is_written_unless_every_class_is_protected(tmp_path, damage, message, command):
    results = results_of(tmp_path, REGISTRY)
    rounds, rows = damage(
        pd.read_parquet(results / "rounds.parquet"), pd.read_parquet(results / "counterfeits.parquet")
    )
    rounds.to_parquet(results / "rounds.parquet")
    rows.to_parquet(results / "counterfeits.parquet")
    (tmp_path / "new").mkdir()
    code, _, err = command(results, tmp_path / "new" / "shared.csv")
    assert code == 2
    assert message in err
    assert list((tmp_path / "new").iterdir()) == []


def test_the_sidecar_holds_the_measures_of_the_wave_that_is_shared(results, tmp_path):
    sidecar, _ = share_run(open_results(results), tmp_path / "shared.csv", policy="basic", accept_risk=True)
    rounds = pd.read_parquet(results / "rounds.parquet").query("policy == 'basic'")
    assert sidecar["round"] == {"number": 3, "outcomes": "expected", "wave": "2026"}
    assert sidecar["expected"]["utility"]["value"] == rounds["utility"].iloc[-1] != rounds["utility"].mean()
    assert "counterfeits" not in sidecar


@st.composite
def registries(draw):
    """Draw a registry of up to three waves, and m, with balanced new diagnoses."""
    m, rows = draw(st.integers(2, 3)), ["age,sex,year,withdrawn,diagnosis"]
    diagnoses = draw(st.permutations(["asthma", "cancer", "flu ", "gout"]))
    for wave in range(draw(st.integers(1, 3))):
        for number in range(draw(st.integers(m, 8))):
            left = wave + draw(st.integers(1, 3)) if draw(st.booleans()) else ""
            age, sex = draw(st.integers(30, 37)), draw(st.sampled_from("FM"))
            rows.append(f"{age},{sex},{wave},{left},{diagnoses[number % 4]}")
    return "\n".join(rows) + "\n", m


@examples(4)
@given(registries())
def test_every_class_of_any_shared_file_has_m_sensitive_values(tmp_path_factory, registry):
    text, m = registry
    folder = tmp_path_factory.mktemp("registry")
    try:
        results = results_of(folder, text, **{"releases.m": m, "publisher.policies": ["m-invariance"]})
    except InputError as error:
        assume("too many new records have the same sensitive value" not in str(error))
        raise
    sidecar, _ = shared_by(results, folder / "shared.csv", kept=unknown(identifiers=["diagnosis"]))
    table = pd.read_csv(folder / "shared.csv")
    counts = table.groupby([*QUASI, "diagnosis"]).size()
    by_class = counts.groupby(level=QUASI)
    assert (by_class.size() >= m).all()
    assert (by_class.max() * m <= by_class.sum()).all()
    rounds = pd.read_parquet(results / "rounds.parquet")
    assert sidecar["counterfeits"]["number"] == rounds["counterfeits"].iloc[-1]
    assert len(table) == sidecar["records"]["shared"] + sidecar["counterfeits"]["number"]
    assert sidecar_of(folder / "shared.csv").is_file()
