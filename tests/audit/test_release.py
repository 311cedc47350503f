"""The audit of a release, against counting every pair of rows; running time."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from directions_oracle import PlainPeople
from hypothesis import given
from hypothesis import strategies as st
from tiers import cases

from reidsim.audit.release import TrueRecords, diversity

SEXES = ["F", "M", ""]
# Nested groups of towns, as in a hierarchy file.
TOWNS = [["Ashby", "north", "*"], ["Brook", "north", "*"], ["Coldham", "south", "*"], ["Dale", "south", "*"]]


def age_form(age, level, rng):
    if level == 0:
        return str(age)
    if level == 3:
        return "*"
    # Intervals of 5 and of 8 overlap.
    width = (5, 8)[level - 1]
    low = age // width * width
    high = low + width - 1
    return [f"{low}-{high}", f"[{low}, {high}]", f"[{low}, {high + 1}["][int(rng.integers(3))]


def age_fits(cell, value):
    if cell == "*":
        return True
    if cell.startswith("["):
        low, high = (int(part) for part in cell.strip("[]").split(","))
        return low <= int(value) < high if cell.endswith("[") else low <= int(value) <= high
    if "-" in cell:
        low, high = map(int, cell.split("-"))
        return low <= int(value) <= high
    return cell == value


def town_fits(cell, value):
    return cell in next(row for row in TOWNS if row[0] == value)


def code_fits(cell, value):
    return (len(cell) == len(value) and all(c in ("*", v) for c, v in zip(cell, value, strict=True))) or cell == "*"


def sex_fits(cell, value):
    return cell in ("*", value) or (cell == "{F, M}" and value in ("F", "M"))


FITS = {"age": age_fits, "town": town_fits, "code": code_fits, "sex": sex_fits}


def random_release(seed):
    """Return released rows, true rows, and the record and person of each row."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    truth = pd.DataFrame(
        {
            "age": rng.integers(20, 40, n).astype(str),
            "town": rng.choice([row[0] for row in TOWNS], n),
            "code": rng.choice(["37201", "37202", "37311", "0372"], n),
            "sex": rng.choice(SEXES, n, p=[0.5, 0.4, 0.1]),
        }
    )
    own = np.flatnonzero(rng.random(n) < 0.8)
    rows = []
    for record in own:
        person = truth.iloc[record]
        code, kept = person["code"], int(rng.integers(0, 5))
        level = int(rng.integers(0, 3))
        rows.append(
            {
                "age": age_form(int(person["age"]), int(rng.integers(0, 4)), rng),
                "town": next(row for row in TOWNS if row[0] == person["town"])[level],
                "code": code if kept >= len(code) else code[:kept] + "*" * (len(code) - kept) if kept else "*",
                "sex": [person["sex"], "{F, M}" if person["sex"] else "", "*"][int(rng.integers(0, 3))],
            }
        )
    persons = rng.integers(0, max(n // 2, 1), n) if seed % 2 else None
    return pd.DataFrame(rows, columns=truth.columns, dtype="str"), truth, own, persons


def by_pairs(released, truth, own, persons):
    """Count every pair of a shared row and a record."""
    person = list(range(len(truth))) if persons is None else persons.tolist()
    everybody = list(dict.fromkeys(person))
    fits = [
        [all(FITS[name](row[name], record[name]) for name in truth) for _, record in truth.iterrows()]
        for _, row in released.iterrows()
    ]
    people_of_row = [len({person[j] for j, fit in enumerate(row) if fit}) for row in fits]
    owners = [len({person[own[i]] for i in range(len(own)) if fits[i][j]}) for j in range(len(truth))]
    rows_of_person = []
    for each in everybody:
        shared = [owners[j] for j in own if person[j] == each]
        rows_of_person.append(min(shared or [owners[j] for j in range(len(truth)) if person[j] == each]))
    classes = {}
    for i, row in enumerate(released.itertuples(index=False, name=None)):
        classes.setdefault(row, set()).add(person[own[i]])
    misfits = sum(not fits[i][j] for i, j in enumerate(own))
    return rows_of_person, people_of_row, sorted(len(each) for each in classes.values()), misfits


@pytest.mark.parametrize("seeds", cases([range(12), range(12, 30)], [range(12)]), ids=str)
def test_counts_are_those_of_every_pair(seeds):
    """Half of the releases have several rows per person."""
    for seed in seeds:
        released, truth, own, persons = random_release(seed)
        found = TrueRecords(truth, persons=persons, hierarchies={"town": TOWNS}).audit(released, own)
        rows_of_person, people_of_row, sizes, misfits = by_pairs(released, truth, own, persons)
        assert found.rows_of_person.tolist() == rows_of_person, seed
        assert found.people_of_row.tolist() == people_of_row, seed
        assert sorted(found.class_sizes.tolist()) == sizes, seed
        assert found.misfits == misfits == 0
        assert found.risk_of_row == (1 / min(people_of_row) if people_of_row else 0)


@given(st.data())
def test_possible_people_are_those_of_some_assignment_of_all_rows(data):
    """Every assignment of the rows to different records is tried."""
    n = data.draw(st.integers(2, 6))
    truth = pd.DataFrame({"a": data.draw(st.lists(st.sampled_from("xyz"), min_size=n, max_size=n)), "b": "1"})
    own = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    cells = [data.draw(st.sampled_from([value, "*", *(f"{{{value}, {other}}}" for other in "xyz")]))
             for value in truth["a"].iloc[own]]  # fmt: skip
    found = TrueRecords(truth).audit(pd.DataFrame({"a": cells, "b": "1"}, dtype="str"), own)
    fits = [[cell == "*" or value in cell for value in truth["a"]] for cell in cells]
    possible = [set() for _ in cells]
    for records in itertools.permutations(range(n), len(cells)):
        if all(fits[row][record] for row, record in enumerate(records)):
            for row, record in enumerate(records):
                possible[row].add(record)
    assert found.possible_people_of_row.tolist() == list(map(len, possible))
    assert found.people_of_row.tolist() == [sum(row) for row in fits]


@pytest.mark.parametrize("seeds", cases([range(at, at + 20) for at in range(0, 200, 20)], [range(20)]), ids=str)
def test_the_levels_of_the_rows_of_a_person_exclude_people(seeds):
    """Compare with all assignments in which the rows of a person have one form: never are too many people counted."""
    counted = excluded = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        hierarchies, n = (((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)), ((0, 1), (0, 0))), int(rng.integers(2, 7))
        records = tuple(
            tuple((int(rng.integers(4)), int(rng.integers(2))) for _ in range(rng.integers(1, 3))) for _ in range(n)
        )
        plain = PlainPeople(hierarchies, records, records, *[(1.0,) * n] * 4, "both")
        strategies = rng.integers(6, size=n).tolist()
        persons = np.repeat(np.arange(n), list(map(len, records)))
        rows = [row for record in records for row in record]
        truth = pd.DataFrame([[f"{at}.0.{value}" for at, value in enumerate(row)] for row in rows], columns=["a", "b"])
        labels = [
            [
                "*" if level == len(h) - 1 else f"{at}.{level}.{group}"
                for at, (h, level, group) in enumerate(
                    zip(hierarchies, plain.forms[form], plain.shown(row, form), strict=True)
                )
            ]
            for row, form in zip(rows, np.array(strategies)[persons].tolist(), strict=True)
        ]
        of_column = {
            name: [[f"{at}.{k}.{h[k][value]}" for k in range(len(h))] for value in range(len(h[0]))]
            for at, (name, h) in enumerate(zip("ab", hierarchies, strict=True))
        }
        released = pd.DataFrame(labels, columns=["a", "b"])
        found = TrueRecords(truth, persons, of_column).audit(released, np.arange(len(rows)))
        # Equal rows of a person may be one record.
        first = ~truth.assign(person=persons).duplicated()
        times = truth.groupby([persons, "a", "b"], sort=False).size().to_numpy()
        merged = TrueRecords(truth[first], persons[first], of_column, times=times)
        few = merged.audit(released[first], np.arange(first.sum()))
        assert few.possible_people_of_row.tolist() == found.possible_people_of_row[first].tolist()
        least = np.full(n, 99)
        np.minimum.at(least, persons, found.possible_people_of_row)
        possible = np.array(plain.fewest_possible(strategies))
        assert (least >= 1).all()
        assert (least <= possible).all(), seed
        few = np.full(n, 99)
        np.minimum.at(few, persons, found.people_of_row)
        counted, excluded = counted + (least > 1).sum(), excluded + (few > possible).sum()
    assert counted
    assert excluded


def test_people_with_several_rows_are_counted_in_parts_of_any_size(monkeypatch):
    for seed in range(1, 13, 2):
        released, truth, own, persons = random_release(seed)
        whole = TrueRecords(truth, persons=persons, hierarchies={"town": TOWNS}).audit(released, own)
        monkeypatch.setattr("reidsim.audit.release._ENTRIES_AT_ONCE", 3)
        parts = TrueRecords(truth, persons=persons, hierarchies={"town": TOWNS}).audit(released, own)
        monkeypatch.undo()
        assert parts.rows_of_person.tolist() == whole.rows_of_person.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_equal_rows_are_counted_as_one_row_of_several_people(seed):
    """Compare with the audit of the table in which each row stands for one person."""
    rng = np.random.default_rng(seed)
    truth = pd.DataFrame({"age": rng.integers(20, 23, 9).astype(str), "sex": rng.choice(["F", "M"], 9)})
    released = truth.assign(age=np.where(rng.random(9) < 0.5, "20-22", truth["age"]), sex="*")
    released.loc[0, "age"] = "99"
    kept = pd.Series(rng.choice(["2", "3", "10"], 9))
    times, own = rng.integers(1, 4, 9), np.flatnonzero(np.append(True, rng.random(8) < 0.7))
    few = TrueRecords(truth, represented=times).audit(released.iloc[own], own)
    every = np.repeat(np.arange(9), times)
    all_own = np.flatnonzero(np.isin(every, own))
    all_rows = TrueRecords(truth.iloc[every]).audit(released.iloc[every[all_own]], all_own)
    assert np.repeat(few.rows_of_person, times).tolist() == all_rows.rows_of_person.tolist()
    assert np.repeat(few.people_of_row, times[own]).tolist() == all_rows.people_of_row.tolist()
    assert (few.people, few.misfits) == (all_rows.people, all_rows.misfits) == (times.sum(), times[0])
    assert few.class_sizes.tolist() == all_rows.class_sizes.tolist()
    promised = rng.random(9)
    assert few.easier_than(promised) == all_rows.easier_than(np.repeat(promised, times))
    classes = pd.factorize(released["age"])[0]
    assert diversity("x", kept, classes, times) == diversity("x", kept[every], classes[every])


def test_more_columns_than_a_key_of_64_bits_holds():
    """Sixteen columns of two hundred values: rows are equal only if all columns are."""
    rng = np.random.default_rng(2)
    truth = pd.DataFrame(rng.integers(0, 200, (300, 16)).astype(str)).rename(columns=str)
    truth = pd.concat([truth, truth.iloc[:40], truth.iloc[:10]], ignore_index=True)
    released = truth.assign(**{"0": "*"})
    found = TrueRecords(truth).audit(released, np.arange(350))
    assert sorted(found.people_of_row.tolist()) == [1] * 260 + [2] * 60 + [3] * 30
    assert found.rows_of_person.tolist() == found.people_of_row.tolist()
    assert sorted(found.class_sizes.tolist()) == [1] * 260 + [2] * 30 + [3] * 10


def test_who_is_found_more_easily_than_promised_is_counted_once():
    """With narrows, one row fits only the person of 20.

    The others hide in "21-23".
    """
    truth = pd.DataFrame({"age": ["20", "21", "22", "23"], "sex": ["F", "F", "M", "M"]})
    released = pd.DataFrame({"age": ["*", "20-23", "20-23", "*"], "sex": ["*"] * 4})
    found = TrueRecords(truth).audit(released, np.arange(4))
    assert found.people_of_row.tolist() == [4] * 4
    assert found.easier_than(np.full(4, 0.25)) == 0
    narrow = released.assign(age=["20", "21-23", "21-23", "21-23"])
    found = TrueRecords(truth).audit(narrow, np.arange(4))
    assert found.rows_of_person.tolist() == [1, 3, 3, 3]
    assert found.easier_than(np.full(4, 0.5)) == 1
    assert found.easier_than(np.full(4, 0.25)) == 4
    assert found.risk_of_person == 1


def test_nothing_shared_and_no_quasi_identifier():
    truth = pd.DataFrame({"age": ["20", "21"]})
    none = TrueRecords(truth).audit(truth.iloc[:0], np.arange(0))
    assert (none.rows_of_person.tolist(), none.risk_of_person, none.risk_of_row) == ([0, 0], 0.0, 0.0)
    assert none.class_sizes.tolist() == []
    bare = TrueRecords(truth[[]]).audit(truth[[]], np.arange(2))
    assert (bare.rows_of_person.tolist(), bare.people_of_row.tolist()) == ([2, 2], [2, 2])
    assert bare.class_sizes.tolist() == [2]


def moved(p, q, places):
    """Return the earth mover's distance of two distributions by a linear program."""
    from scipy.optimize import linprog

    n = len(p)
    cost = np.array([[abs(a - b) for b in places] for a in places]).ravel()
    leaves, arrives = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    return linprog(cost, A_eq=np.vstack([leaves, arrives]), b_eq=np.concatenate([p, q])).fun


@pytest.mark.parametrize("seed", range(6))
def test_diversity_is_what_its_definition_gives(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    classes = np.unique(rng.integers(0, 6, n), return_inverse=True)[1]
    numbers = seed % 2 == 0
    column = pd.Series(rng.choice(["5", "1", "30", "7.5", ""] if numbers else list("abcd"), n), dtype="str")
    found = diversity("x", column, classes)
    values = sorted(set(column), key=lambda v: float(v or "-inf")) if numbers else sorted(set(column))
    q = np.array([(column == v).mean() for v in values])
    distinct, entropy, far = [], [], []
    for each in set(classes.tolist()):
        held = column[classes == each]
        p = np.array([(held == v).mean() for v in values])
        distinct.append(held.nunique())
        entropy.append(math.exp(-sum(s * math.log(s) for s in p if s)))
        equal = np.abs(p - q).sum() / 2
        far.append(
            moved(p, q, np.arange(len(values))) / max(len(values) - 1, 1) if found["distance"] == "ordered" else equal
        )
    assert found["distance"] == ("ordered" if numbers and any(column != "") else "equal")
    assert (found["distinct"], found["entropy"]) == (min(distinct), pytest.approx(min(entropy)))
    assert found["closeness"] == pytest.approx(max(far), abs=1e-7)
