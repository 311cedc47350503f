"""A hospital file with several rows per patient, evaluated by patients throughout."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared_files import unknown

import reidsim
from reidsim.core.errors import InputError
from reidsim.drafts.draft import draft_scenario
from reidsim.engine.attributes import attributes_loaded
from reidsim.engine.score import score_loaded
from reidsim.engine.stress.run import describe as size_of
from reidsim.reports.description import describe
from reidsim.reports.page.report import report_text
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.file import write_shared
from reidsim.reports.shared.records import shared_records
from reidsim.scenarios.scenario import Scenario

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from by_people import made_hospital

COLUMNS = ["age", "sex", "zip"]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hospital")
    made_hospital(1_500, 900, seed=4).to_csv(folder / "stays.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def played(hospital):
    draft = draft_scenario(hospital / "stays.csv", hospital / "draft")
    (hospital / "draft").mkdir()
    draft.write(hospital / "draft")
    # Released files are scored against an adversary who looks for a row's patient.
    toml = hospital / "draft" / "stays.toml"
    toml.write_text(toml.read_text().replace('direction = "both"', 'direction = "record"'))
    loaded = Scenario.load(hospital / "draft" / "stays.toml")
    result = reidsim.run(hospital / "draft" / "stays.toml")
    result.save(hospital / "results")
    return draft, loaded, result


def test_a_draft_counts_patients_and_says_so(played):
    draft, loaded, result = played
    assert (loaded.scenario.release.person, loaded.scenario.release.household) == ("pid", "hid")
    assert any("1,500 rows of 900 people; people are counted" in warning for warning in draft.warnings)
    assert "pid" not in draft.files["stays.toml"].partition("Quasi-identifiers")[2]
    assert size_of(loaded).startswith("1,500 records of 900 people in ")
    assert result.manifest["released_people"] == 900


def test_groups_of_the_draft_are_those_of_the_file(hospital, played):
    frame = pd.read_csv(hospital / "stays.csv", dtype=str)
    sizes = frame.groupby(COLUMNS)["pid"].transform("nunique")
    risk = (1 / sizes).groupby(frame["pid"]).max()
    _, _, result = played
    assert result.summary.loc["no-protection", "risk"] == pytest.approx(risk.mean(), abs=1e-12)
    household = risk.groupby(frame.groupby("pid")["hid"].first()).transform("max")
    assert result.summary.loc["no-protection", "household_risk"] == pytest.approx(household.mean(), abs=1e-12)
    told = describe(hospital / "stays.csv", columns=COLUMNS, person="pid")
    assert told.profile.average_risk == pytest.approx(risk.mean(), abs=1e-12)
    assert (told.people, told.records, told.uniques) == (900, 1_500, int((risk == 1).sum()))
    assert told.frequencies.uniques == int(frame.groupby(COLUMNS)["pid"].nunique().eq(1).sum())


def test_what_is_shared_gives_a_persons_rows_one_form(hospital, played, tmp_path):
    run = open_results(hospital / "results")
    shared = shared_records(run, policy="no-attack", kept=unknown("diagnosis"))
    sidecar, _ = write_shared(tmp_path / "shared.csv", run, shared)
    told = sidecar["expected"]["risk"]["definition"]
    assert "mean over all people" in told
    for key in ("pid", "hid"):
        with pytest.raises(InputError, match="the column is a key of"):
            shared_records(run, policy="no-attack", kept=unknown(key))
    # Under this policy every row fits so many people that no attack is profitable.
    _, _, result = played
    records = result.records[result.records["policy"] == "no-attack"]
    assert records.groupby("person")["strategy"].nunique().max() == 1
    assert "P0" not in (tmp_path / "shared.csv").read_text() + json.dumps(sidecar)


@pytest.mark.deep
def test_reports_and_records_never_hold_the_key(hospital, played):
    text = report_text(hospital / "results")
    assert "1,500 records of 900 people" in text
    assert "People attacked" in text
    assert "Household risk" in text
    assert "P0000" not in text
    stored = pd.read_parquet(hospital / "results" / "records.parquet")
    assert not stored.astype(str).apply(lambda column: column.str.match(r"[PH]\d{4}")).to_numpy().any()
    # Shares count people, not rows: the median of the original file.
    _, _, result = played
    own = result.records[result.records["policy"] == "no-protection"].drop_duplicates("person")
    assert f">{own['success_probability'].median():.4f}<" in text


@pytest.mark.parametrize(
    ("person", "told"),
    [
        ("who", "no such column"),
        ("pid", "row 2, column 'pid': value missing"),
    ],
)
def test_a_key_that_cannot_be_described_is_told(tmp_path, person, told):
    (tmp_path / "people.csv").write_text("pid,age\n1,30\n,31\n2,32\n")
    with pytest.raises(InputError, match=told):
        describe(tmp_path / "people.csv", person=person)


def test_released_records_are_scored_as_their_policy(hospital, played, tmp_path):
    run = open_results(hospital / "results")
    for policy in ("no-attack", "basic"):
        shared = shared_records(run, policy=policy)
        # `share` sorts the rows and keeps no key of people.
        released = run.table("records").query("policy == @policy")[list(shared.quasi_identifiers.values())].astype(str)
        released["pid"] = pd.read_csv(hospital / "stays.csv", dtype=str)["pid"].to_numpy()
        assert shared.withheld == 0
        released.to_csv(tmp_path / f"{policy}.csv", index=False)
        found = score_loaded(played[1], tmp_path / f"{policy}.csv", key="pid")
        assert len(found.records) == 900
        assert found.measures["share_attacked"].label == "People attacked"
        for measure in ("publisher_payoff", "adversary_payoff", "risk", "utility", "share_attacked"):
            same = pytest.approx(played[2].summary.loc[policy, measure], abs=1e-12)
            assert found.summary.loc[f"{policy}.csv", measure] == same


def test_a_file_with_several_forms_of_a_person_is_scored_by_the_record_that_hides_worst(hospital, played, tmp_path):
    frame = pd.read_csv(hospital / "stays.csv", dtype=str)
    age, sex = frame["age"].to_numpy(), frame["sex"].to_numpy()
    # Every third row releases the sex, the others an age range of five years; the last hundred people are withheld.
    fine = np.arange(len(frame)) % 3 == 0
    low = (age.astype(int) - 1) // 4 * 4 + 1
    released = frame.assign(
        age=np.where(fine, "*", [f"[{start}, {start + 4}[" for start in low]), sex=np.where(fine, sex, "*"), zip="*"
    )
    gone = frame["pid"].isin(frame["pid"].unique()[-100:])
    released[~gone].to_csv(tmp_path / "released.csv", index=False)
    found = score_loaded(played[1], tmp_path / "released.csv", key="pid")

    of_age, of_sex = (frame["pid"].groupby(values).agg(set) for values in (age.astype(int), sex))
    band = {
        start: len(set().union(*of_age[(of_age.index >= start) & (of_age.index < start + 4)])) for start in set(low)
    }
    size = np.where(fine, [len(of_sex[value]) for value in sex], [band[start] for start in low])
    success = (1 / pd.Series(size)).groupby(frame["pid"], sort=False).max()
    success[success.index.isin(frame["pid"].unique()[-100:])] = 0.0
    np.testing.assert_allclose(found.records["success_probability"], success, rtol=1e-12)
    attacked = 300 * success > 4 * (1 + 1e-12)
    assert found.records["attacked"].tolist() == attacked.tolist()
    assert 0 < attacked.sum() < 800
    assert found.records["shared"].tolist() == [True] * 800 + [False] * 100
    values = [frame[column].nunique() for column in COLUMNS]
    counted = [len({value for value in map(int, age) if start <= value < start + 4}) for start in low]
    lost = np.where(fine, np.log(values[0] * values[2]), np.log(np.multiply(counted, values[1] * values[2])))
    kept = pd.Series(np.where(gone, 0.0, 1 - lost / np.log(np.prod(values)))).groupby(frame["pid"], sort=False).mean()
    np.testing.assert_allclose(found.records["utility"], kept, rtol=0, atol=1e-12)
    paid = 1200 * kept - 300 * success * attacked
    assert found.summary.loc["released.csv", "publisher_payoff"] == pytest.approx(paid.mean(), abs=1e-9)


def test_columns_are_weighed_by_people(hospital, played):
    found = attributes_loaded(played[1])
    frame = pd.read_csv(hospital / "stays.csv", dtype=str)
    risk = (1 / frame.groupby(COLUMNS)["pid"].transform("nunique")).groupby(frame["pid"]).max().mean()
    told = found.table.query("policy == 'no-protection' and measure == 'risk'")
    assert told["all"].to_numpy() == pytest.approx([risk] * len(COLUMNS), abs=1e-12)


def test_tables_of_switches_and_scores_speak_of_people(hospital, played, tmp_path, monkeypatch, reidsim_):
    monkeypatch.chdir(tmp_path)
    pd.read_csv(hospital / "stays.csv", dtype=str)[COLUMNS].assign(age="*").to_csv("released.csv", index=False)
    scenario = str(hospital / "draft" / "stays.toml")
    told = {
        ("switch", scenario, "--key", "economics.loss", "-o", "switched"): "payoff per person at both ends",
        ("score", "released.csv", "--scenario", scenario, "-o", "scored"): "means over all people; payoffs per person",
    }
    for command, caption in told.items():
        code, printed, _ = reidsim_(*command)
        assert code == 0
        assert caption in printed
        assert "People" in printed
        assert "Records" not in printed
