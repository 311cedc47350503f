"""`reidsim new` on tables with sampling weights: detected columns, drafted text."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.tables import CountedTable
from reidsim.drafts.draft import draft_scenario
from reidsim.drafts.people import may_name_weight, names_weight, weight_column
from reidsim.drafts.profile import profile_table

NAMED = ["wt", "wgt", "pweight", "sampling_weight", "rweight", "rweight12", "fnlwgt", "PERWT", "HHWT", "PWGTP",
         "finalWeight", "survey weight", "design_weight", "person-weight", "weights", "WTMEC2YR", "fexp"]  # fmt: skip
OTHERS = ["birth_weight", "body weight", "weight_kg", "height", "age", "thwart", "newton", "Gewicht kg", "factory"]


def test_weights_are_recognized_by_their_names():
    assert {name for name in (*NAMED, *OTHERS, "weight") if names_weight(name)} == set(NAMED)
    # The weight may also be that of a body.
    assert {name for name in (*NAMED, *OTHERS, "weight") if may_name_weight(name)} == {*NAMED, "weight"}


def survey(rows=60, **columns):
    rng = np.random.default_rng(1)
    table = {"age": rng.integers(18, 80, rows), "sex": rng.choice(["F", "M"], rows)}
    return pd.DataFrame(table | columns)


def found(table, **options):
    return weight_column(profile_table(CountedTable.of(table.astype("str"))), **options)


SPREAD = np.linspace(1, 40, 60).round(1)
DECIMALS = np.linspace(50, 90, 60).round(4)
BODY = np.linspace(50, 90, 60).round(1)


@pytest.mark.parametrize(
    ("columns", "taken"),
    [
        ({"wgt": np.full(60, 10)}, "wgt"),
        ({"weight": SPREAD}, "weight"),
        ({"weight": DECIMALS}, "weight"),
        ({"weight": BODY}, None),
        ({"weight": SPREAD, "height": BODY}, None),
        ({"wt": SPREAD, "ht": BODY}, None),
        ({"weight": SPREAD, "date_of_birth": np.arange(60)}, "weight"),
        ({"weight": np.arange(1, 61)}, None),
        ({"amount": SPREAD}, None),
        ({"rweight": SPREAD, "rweight1": SPREAD}, "rweight"),
    ],
)
def test_columns_of_weights(columns, taken):
    assert found(survey(**columns))[0] == taken


def test_values_that_add_up_to_the_population_are_weights():
    table = survey(grossing=SPREAD)
    assert found(table, total=SPREAD.sum() * 1.01)[0] == "grossing"
    assert found(table, total=SPREAD.sum() * 1.1)[0] is None
    assert found(table, total=SPREAD.sum(), other_use=("grossing",))[0] is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.linspace(0.2, 3, 60), "not all values are numbers of 1 or more"),
        (["", *map(str, SPREAD[1:])], "but weights are missing in 1 row"),
    ],
)
def test_weights_that_cannot_be_used_are_told(values, said):
    taken, warnings = found(survey(wgt=values))
    assert taken is None
    assert said in warnings[0]
    assert warnings[0].startswith("column 'wgt' looks like sampling weights")


def test_several_columns_of_weights_are_told():
    assert found(survey(wgt=SPREAD, wgt2=SPREAD))[1] == ("2 columns look like sampling weights: 'wgt' is used",)


def test_the_draft_takes_the_weight_and_runs(tmp_path):
    survey(pweight=SPREAD).to_csv(tmp_path / "survey.csv", index=False)
    draft = draft_scenario(tmp_path / "survey.csv", tmp_path / "draft")
    text = draft.files[draft.scenario_file]
    content = tomllib.loads(text)
    assert "weight" not in content["release"]
    assert '# weight = "pweight"' in text
    assert f"the records represent {SPREAD.sum():,.0f} people" in text
    assert set(content["attributes"]) == {"age", "sex"}
    assert "pweight" not in draft.choice.possible
    assert f"pweight,number,{len(set(SPREAD))},0,left out,sampling weight" in draft.files["columns.csv"]
    (tmp_path / "draft").mkdir()
    draft.write(tmp_path / "draft")
    sample = {"adversary.risk": "sample", "adversary.direction": "record", "release.weight": "pweight"}
    run = reidsim.run(tmp_path / "draft" / "survey.toml", overrides=sample).summary
    alone = reidsim.run(tmp_path / "draft" / "survey.toml").summary
    assert run.loc["no-protection", "risk"] < alone.loc["no-protection", "risk"]


def test_equal_rows_represent_people_each(tmp_path):
    pd.concat([survey(pweight=SPREAD)] * 3).to_csv(tmp_path / "survey.csv", index=False)
    draft = draft_scenario(tmp_path / "survey.csv", tmp_path / "draft")
    assert f"the records represent {3 * SPREAD.sum():,.0f} people" in draft.files[draft.scenario_file]
    assert draft.records == 3 * len(SPREAD)


def test_a_weighted_survey_of_people_with_several_rows_is_drafted_run_and_shared(folder, reidsim_):
    rng, n = np.random.default_rng(5), 60
    people = np.repeat(np.arange(n), rng.integers(1, 4, n))
    of_people = {
        "patient_id": [f"P{number:05d}" for number in range(n)],
        "birth_year": rng.integers(1930, 2005, n),
        "sex": rng.choice(["F", "M"], n),
        "pweight": rng.uniform(3, 90, n).round(2),
    }
    table = pd.DataFrame(of_people).loc[people].assign(zip=rng.choice(["37203", "37209", "38103"], len(people)))
    table.to_csv("survey.csv", index=False)
    assert reidsim_("new", "survey.csv")[0] == 0
    scenario = Path("survey/survey.toml")
    text = scenario.read_text()
    assert tomllib.loads(text)["adversary"]["direction"] == "both"
    assert f"represent {of_people['pweight'].sum():,.0f} people" in text
    text = text.replace("# weight =", "weight =").replace("# estimator =", "estimator =")
    scenario.write_text(text.replace('risk = "prosecutor"', 'risk = "sample"'))
    reidsim.run(scenario, overrides={"publisher.policies": ["no-attack"]}).save("results")
    code, out, err = reidsim_("share", "results", "-o", "shared.csv", "--policy", "no-attack")
    assert code == 0, err
    assert "within the limit" in out


def test_the_key_stands_in_its_section():
    name = 'w " \\ x weight'
    text = reidsim.new(survey(**{name: SPREAD})).text
    weighted = text.replace("# weight", "weight").replace('"prosecutor"\n', '"sample"\n')
    content = tomllib.loads(weighted)
    assert content["release"]["weight"] == name
    assert content["adversary"]["risk"] == "sample"
