"""A release with several rows per person, assessed by people, by enumeration."""

import numpy as np
import pandas as pd
import pytest
from small_hospital import random_hospital
from test_people_planners import KNOWN, RECIPE

import reidsim
from reidsim.core.errors import InputError

SCENARIO = """
game = "risk"
[release]
path = "records.csv"
{keys}
[knowledge]
neighbours = "neighbours.toml"
[uniqueness]
method = "fixed"
value = 0.3
[network]
p_m = 0.6
p_fm = 0.7
p_cu = 0.4
p_c = 0.2
[attack]
gain = 100
cost = 30
"""
KEYS = 'person = "pid"\nhousehold = "hid"'


def written(folder, hospital, *, keys=KEYS, frame=None, text=SCENARIO):
    table = hospital.frame() if frame is None else frame
    (table if keys else table.drop(columns=["pid", "hid"])).to_csv(folder / "records.csv", index=False)
    (folder / "neighbours.toml").write_text(RECIPE)
    path = folder / "risk.toml"
    path.write_text(text.format(keys=keys))
    return path


def overall(unique, size, also_unique):
    """Return the risk through three routes; `size` is the number of matching people."""
    missed = (1 - unique * 0.6 * 0.7) * (1 - also_unique * 0.4) * (1 - 0.2 / size)
    return 1 - missed


def by_hand(hospital, sets):
    """Return the risks of each row, then the largest over each person's rows.

    `sets` are the known attributes with their probabilities.
    """
    found = {}
    for person in hospital.people:
        of_rows = []
        for number in hospital.rows_of(person):
            own = hospital.rows[number][2:]
            risks = np.zeros(4)
            for known, p in sets:
                match = {row[0] for row in hospital.rows if all(row[2:][a] == own[a] for a in known)}
                alone = len(match) == 1
                # A person unique among the records is unique in the population with probability .3.
                with_it = overall(alone, len(match), alone)
                without = overall(alone, len(match), False)
                risks += p * np.array([alone, 0.3 * alone, 1 / len(match), 0.3 * with_it + 0.7 * without])
            of_rows.append(risks)
        found[person] = np.max(of_rows, axis=0)
    return found


@pytest.mark.parametrize("seed", range(2))
def test_people_are_counted_and_found_by_their_best_row(tmp_path, seed):
    hospital = random_hospital(seed, n_rows=18, n_people=8)
    result = reidsim.run(written(tmp_path, hospital))
    household = {row[0]: row[1] for row in hospital.rows}
    for name, sets in (("neighbours", KNOWN), ("worst-case", [((0, 1, 2), 1.0)])):
        expected = by_hand(hospital, sets)
        records = result.records[result.records["knowledge"] == name]
        assert records["person"].tolist() == [hospital.people.index(row[0]) for row in hospital.rows]
        for row, told in zip(hospital.rows, records.to_dict("records"), strict=True):
            found = [told[column] for column in ("prosecutor", "journalist", "marketer", "overall")]
            np.testing.assert_allclose(found, expected[row[0]], atol=1e-12)
            same = [expected[p][3] for p in hospital.people if household[p] == row[1]]
            assert told["household_risk"] == pytest.approx(max(same), abs=1e-12)
        means = result.runs.set_index("knowledge").loc[name]
        columns = ["prosecutor_risk", "journalist_risk", "marketer_risk", "overall_risk"]
        np.testing.assert_allclose(means[columns].astype(float), np.mean(list(expected.values()), axis=0), atol=1e-12)
        most = [max(expected[q][3] for q in hospital.people if household[q] == household[p]) for p in hospital.people]
        assert means["household_risk"] == pytest.approx(np.mean(most), abs=1e-12)
        net = 100 * np.array([expected[p][3] for p in hospital.people]) - 30
        source = result.analysis.sources.set_index("knowledge").loc[name]
        assert source["persons_attacked"] == (net > 0).sum()
        assert source["payoff"] == pytest.approx(net[net > 0].sum())


def test_a_key_that_no_two_rows_share_changes_nothing(tmp_path):
    hospital = random_hospital(3, n_rows=20, n_people=20)
    for name, keys in (("with", 'person = "pid"\nattributes = ["age", "sex", "ward"]'), ("without", "")):
        (tmp_path / name).mkdir()
        written(tmp_path / name, hospital, keys=keys)
    keyed, plain = (reidsim.run(tmp_path / name / "risk.toml") for name in ("with", "without"))
    pd.testing.assert_frame_equal(keyed.runs, plain.runs, rtol=1e-12)
    pd.testing.assert_frame_equal(keyed.records.drop(columns="person"), plain.records, rtol=1e-12)


def generalized(hospital, level):
    """Return the rows as a table with ages in ranges of `level` years."""
    frame = hospital.frame()
    low = frame["age"].astype(int) // level * level
    return frame.assign(age=low.map(lambda at: f"{at}-{at + level - 1}"))


def test_groups_of_values_match_by_people(tmp_path):
    hospital = random_hospital(8, n_rows=18, n_people=8)
    groups = {f"{low}-{low + 3}": [str(low + step) for step in range(4)] for low in (0, 4)}
    trees = "\n[trees.age.groups]\n" + "\n".join(f'"{name}" = {members}' for name, members in groups.items())
    # All rows of half of the people are generalized.
    frame = hospital.frame()
    coarse = frame["pid"].astype(int) % 2 == 0
    frame.loc[coarse, "age"] = generalized(hospital, 4)["age"][coarse]
    result = reidsim.run(written(tmp_path, hospital, frame=frame, text=SCENARIO + trees))
    worst = result.records[result.records["knowledge"] == "worst-case"]
    members = {name: set(values) for name, values in groups.items()}

    def of(label):
        return members.get(label, {label})

    for person in hospital.people:
        chances = []
        for number in hospital.rows_of(person):
            own = frame.iloc[number]
            match = {
                other["pid"]
                for _, other in frame.iterrows()
                if of(own["age"]) <= of(other["age"]) and other["sex"] == own["sex"] and other["ward"] == own["ward"]
            }
            chances.append(1 / len(match))
        rows = worst.iloc[hospital.rows_of(person)]
        np.testing.assert_allclose(rows["marketer"], max(chances), atol=1e-12)


def test_rows_of_one_person_in_different_groups_are_an_error(tmp_path):
    hospital = random_hospital(1)
    number = hospital.rows_of(hospital.people[0])[1]
    frame = hospital.frame()
    frame.loc[number, "ward"] = "*"
    with pytest.raises(InputError, match="records of the same person are generalized to different levels") as error:
        reidsim.run(written(tmp_path, hospital, frame=frame))
    assert f"row {number + 1}" in str(error.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"release.person": "age", "release.attributes": ["age"]}, "the key of persons is a quasi-identifier"),
        ({"release.person": "who"}, "column 'who': column missing"),
        ({"expectation.method": "monte-carlo"}, "Monte Carlo needs one record per person"),
        (
            {"release": {"sizes": [3], "person": "pid"}, "population": {"recipe": "x.toml"}},
            "person: the key has no effect",
        ),
    ],
)
def test_unusable_keys_are_refused(tmp_path, changes, told):
    path = written(tmp_path, random_hospital(2))
    with pytest.raises(InputError, match=told):
        reidsim.run(path, overrides=changes)
