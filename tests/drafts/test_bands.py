"""Numeric bands such as age groups are recognized and merged into wider bands."""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.drafts.draft import draft_scenario
from reidsim.drafts.profile import bands_of, wider_bands
from reidsim.releases.hierarchy import read_hierarchy_rows

AGES = [f"{low}-{low + 4}" for low in range(15, 85, 5)] + ["85+"]


@pytest.mark.parametrize(
    "values",
    [
        ["0-4", "5-9", "10-14"], ["5 - 9", "10 to 14", "15 and over"], ["under 5", "5\u20139", "10\u201314"],
        ["<5", "5-9", "10-14", ">=15"],
    ],
)  # fmt: skip
def test_bands_are_told_in_any_writing(values):
    assert list(bands_of(list(reversed(values)))) == values


@pytest.mark.parametrize(
    "values",
    [
        ["0-4", "5-9"], ["0-5", "5-9", "10-14"], ["9-5", "10-14", "15-19"], ["0-4", "5-9", "none"],
        ["12", "13", "14"], ["05-2024", "06-2024", "07-2023"], [],
    ],
)  # fmt: skip
def test_what_overlaps_or_is_no_band_is_none(values):
    assert bands_of(values) is None


def test_wider_bands_hold_whole_bands_and_are_named_by_what_they_hold():
    widths, labels = wider_bands(bands_of(AGES), 3)
    assert widths == [10, 20]
    assert labels["15-19"] == ["15-19", "15-19"]
    assert labels["20-24"] == labels["25-29"] == ["20-29", "20-39"]
    assert labels["85+"] == ["80+", "80+"]
    widest = dict(labels.values())
    assert all(widest[decade] == wide for decade, wide in labels.values())
    assert wider_bands(bands_of(AGES), 1)[0] == [10]
    assert wider_bands(bands_of(["0-4", "5-9", "10+"]), 2)[0] == []


def test_intervals_of_a_draft_contain_a_top_category(tmp_path):
    ages = [*map(str, range(20, 95)), "90+", "80-89"] * 3
    pd.DataFrame({"age": ages}).to_csv(tmp_path / "a.csv", index=False)
    scenario = reidsim.new(tmp_path / "a.csv").scenario
    rows = read_hierarchy_rows(scenario.folder / scenario.scenario.attributes["age"].hierarchy.file)
    labels = {value: labels for value, *labels in rows}
    assert labels["90+"] == labels["94"] == ["90+", "90+", "80+", "*"]
    assert labels["89"] == ["85-89", "80-89", "80+", "*"]
    assert labels["80-89"] == ["80-89", "80-89", "80+", "*"]


def test_a_draft_joins_age_groups_and_runs(tmp_path):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"age_group": rng.choice(AGES, 300), "sex": rng.choice(["F", "M"], 300)})
    table.loc[3, "age_group"] = ""
    table.to_csv(tmp_path / "census.csv", index=False)
    draft = draft_scenario(tmp_path / "census.csv", tmp_path / "draft")
    profile = next(column.profile for column in draft.choice.chosen if column.profile.name == "age_group")
    assert profile.kind == "category"
    (tmp_path / "draft").mkdir()
    draft.write(tmp_path / "draft")
    result = reidsim.run(
        tmp_path / "draft" / "census.toml",
        overrides={"publisher.policies": ["no-attack"], "adversary.direction": "record"},
    )
    shared = set(result.records["age_group"].dropna())
    decades = {f"{low}-{low + 9}" for low in range(20, 80, 10)} | {f"{low}-{low + 19}" for low in (20, 40, 60)}
    assert shared <= {*AGES, *decades, "80+", "", "*"}
    assert shared & decades
