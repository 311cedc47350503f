"""`reidsim share --rulebook` and `reidsim apply`: new records follow the rules.

A rulebook assigns each cell its released form; new records of the cell are released in that form.
"""

import csv
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import reidsim

SCENARIO = """
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [2, 4] }
[attributes.sex]
column = "Geschlecht"
values = { w = "F", m = "M" }
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 300
cost = 20
[adversary]
risk = "prosecutor"
[publisher]
unit = "table"
policies = ["full-domain-no-attack", "record-level-no-attack", "no-protection"]
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return the folder of a small scenario and its results."""
    folder = tmp_path_factory.mktemp("played")
    rng = np.random.default_rng(7)
    ages = [*rng.integers(20, 24, 60).tolist(), *rng.integers(24, 40, 20).tolist()]
    frame = pd.DataFrame({"note": "x", "age": ages, "Geschlecht": rng.choice(["w", "m"], 80)})
    frame.assign(pid=[f"P{i}" for i in range(80)]).to_csv(folder / "people.csv", index=False)
    (folder / "town.toml").write_text(SCENARIO)
    reidsim.run(folder / "town.toml").save(folder / "results")
    return folder


@pytest.fixture
def town(played, tmp_path, monkeypatch, reidsim_):
    monkeypatch.chdir(shutil.copytree(played, tmp_path / "town"))
    return reidsim_


def share(town, policy):
    return town("share", "results", "--policy", policy, "-o", "out.csv", "--rulebook", "rules.csv", "--accept-risk")


def rows_of(path, delimiter=","):
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file, delimiter=delimiter))
    return header, rows


@pytest.mark.parametrize("policy", ["full-domain-no-attack", "record-level-no-attack", "no-protection"])
def test_applied_to_the_release_itself_it_makes_the_shared_file(town, policy):
    code, _, _ = share(town, policy)
    assert code == 0
    code, out, err = town("apply", "rules.csv", "people.csv", "-o", "again.csv")
    assert code == 0
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
    n_shared = len(rows_of("out.csv")[1])
    assert f"{n_shared} of 80 records shared; withheld: {80 - n_shared} by a rule, 0 because no rule" in out
    assert "warning: the risk was computed for the release of the rulebook; not checked for new records: limits" in err


def test_records_of_a_parquet_file_are_released_as_comma_separated_text(town):
    share(town, "no-protection")
    # The bytes of the file look like lines with tabs.
    frame = pd.read_csv("people.csv", dtype=str).assign(note="a\tb\tc\nd\te\tf\n")
    frame[["note", "age", "Geschlecht"]].to_parquet("people.parquet", compression=None)
    assert town("apply", "rules.csv", "people.parquet", "-o", "again.csv")[0] == 0
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


@pytest.mark.parametrize(
    ("age", "sex"), [("form", "shared"), ("age", "released age"), ("form", "form_"), ("shared__", "shared")]
)
def test_columns_of_the_file_may_have_the_names_of_a_rulebook(folder, played, reidsim_, age, sex):
    frame = pd.read_csv(played / "people.csv").rename(columns={"age": age, "Geschlecht": sex})
    frame.to_csv("people.csv", index=False)
    scenario = SCENARIO.replace('"Geschlecht"', f'"{sex}"').replace(
        "[attributes.age]", f'[attributes.age]\ncolumn = "{age}"'
    )
    Path("town.toml").write_text(scenario)
    reidsim.run("town.toml").save("results")
    assert share(reidsim_, "full-domain-no-attack")[0] == 0
    assert rows_of("rules.csv")[0][:2] == [age, sex]
    code, out, _ = reidsim_("apply", "rules.csv", "people.csv", "-o", "again.csv")
    assert (code, Path("again.csv").read_bytes()) == (0, Path("out.csv").read_bytes())
    assert "0 because no rule" in out


def test_every_cell_has_one_rule_with_its_form(town):
    share(town, "full-domain-no-attack")
    header, rules = rows_of("rules.csv")
    assert header == ["age", "Geschlecht", "form", "shared", "released age", "released Geschlecht"]
    frame = pd.read_csv("people.csv", dtype=str)
    assert [tuple(rule[:2]) for rule in rules] == sorted(set(zip(frame["age"], frame["Geschlecht"], strict=True)))
    records = pd.read_parquet("results/records.parquet")
    own = records[records["policy"] == "full-domain-no-attack"].reset_index(drop=True)
    by_cell = {tuple(rule[:2]): rule[2:] for rule in rules}
    assert {rule[3] for rule in rules} == {"yes", "no"}
    for (age, sex), record in zip(
        zip(frame["age"], frame["Geschlecht"], strict=True), own.to_dict("records"), strict=True
    ):
        form, shared, *released = by_cell[age, sex]
        assert form == record["strategy"]
        assert shared == ("no" if record["strategy"] == "withheld" else "yes")
        assert released == (["", ""] if shared == "no" else [record["age"], record["sex"]])


def test_new_records_are_shared_by_the_rules_and_others_are_withheld(town):
    share(town, "full-domain-no-attack")
    _, rules = rows_of("rules.csv")
    yes, no = (next(rule for rule in rules if rule[3] == told) for told in ("yes", "no"))
    new = [[yes[1], f" {yes[0]} ", "flu"], [no[1], no[0], "flu"], ["w", "99", "cold"], ["", yes[0], "cold"]] * 6
    pd.DataFrame(new, columns=["Geschlecht", "age", "diagnosis"]).to_csv("new.csv", index=False, sep=";")
    code, out, _ = town("apply", "rules.csv", "new.csv", "-o", "new-shared.csv", "--keep", "diagnosis")
    assert code == 0
    assert "6 of 24 records shared; withheld: 6 by a rule, 12 because no rule covers their values" in out
    header, rows = rows_of("new-shared.csv", ";")
    assert header == ["Geschlecht", "age", "diagnosis"]
    assert rows == [[yes[5], yes[4], "flu"]] * 6


def test_a_file_without_header_is_released_by_column_numbers(town):
    Path("bare.csv").write_text(Path("people.csv").read_text().partition("\n")[2])
    number = {name: str(place + 1) for place, name in enumerate(rows_of("people.csv")[0])}
    columns = {"age": number["age"], "sex": number["Geschlecht"]}
    bare = {"release.path": "bare.csv", "release.header": False}
    reidsim.run("town.toml", overrides=bare | {f"attributes.{k}.column": v for k, v in columns.items()}).save("bare")
    kept = ("--keep-identifier", "1", "--unknown-to-outsiders", "1")
    options = ("--policy", "full-domain-no-attack", "--rulebook", "bare-rules.csv", "--accept-risk", *kept)
    assert town("share", "bare", "-o", "out.csv", *options)[0] == 0
    code, _, err = town("apply", "bare-rules.csv", "bare.csv", "-o", "again.csv", *kept[:2])
    assert code == 0, err
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
    code, _, err = town("apply", "bare-rules.csv", "bare.csv", "-o", "new.csv", "--keep", "age")
    assert (code, "column 'age': column missing" in err) == (2, True)


@pytest.mark.deep
def test_kept_columns_of_new_records_are_checked_as_by_share(town):
    """The note of a person of each cell is the person's own; a surname identifies people although they share it."""
    frame = pd.read_csv("people.csv", dtype=str).assign(
        note=[f"n{number // 4}" for number in range(80)], surname="Smith"
    )
    frame.to_csv("people.csv", index=False)
    reidsim.run("town.toml").save("again")
    share = ("share", "again", "--policy", "no-protection", "--accept-risk", "-o", "out.csv")
    assert town(*share, "--rulebook", "rules.csv")[0] == 0
    for path in ("out.csv", "out.csv.json"):
        Path(path).unlink()
    apply = ("apply", "rules.csv", "people.csv", "-o", "out.csv")
    told = [town(*command, "--keep", "note,surname") for command in (share, apply)]
    assert [code for code, *_ in told] == [2, 2]
    assert all(
        "the column could identify most people: its name suggests name; found 'surname'" in err for *_, err in told
    )
    assert not Path("out.csv").exists()
    # A small file singles people out in any case; `apply` only warns.
    singled = "kept columns single out people together with the quasi-identifiers: "
    code, _, err = town(*share, "--keep", "note")
    assert (code, f"not written: {singled}'note'" in err) == (2, True)
    code, _, err = town(*apply, "--keep", "note")
    assert (code, f"warning: {singled}note" in err) == (0, True)
    Path("out.csv").unlink()
    assert singled not in town(*apply, "--keep", "note", "--unknown-to-outsiders", "note")[2]
    Path("out.csv").unlink()
    # Lists of columns, one with a comma in its name.
    frame.rename(columns={"note": "a, b"}).to_csv("people.csv", index=False)
    lists = ("--keep", '"a, b", surname', "--keep-identifier", "pid", "--unknown-to-outsiders", 'pid,"a, b"')
    assert "found 'surname'" in town(*apply, *lists)[2]
    code, _, err = town(*apply, *lists[2:], "--keep", '"a, b"')
    assert (code, "warning: column 'pid', kept on request, could identify most people" in err) == (0, True)
    assert rows_of("out.csv")[0] == ["a, b", "age", "Geschlecht", "pid"]


def break_rules(change):
    def broken():
        header, rows = rows_of("rules.csv")
        change(header, rows)
        with open("rules.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])

    return broken


@pytest.mark.parametrize(
    ("spoil", "arguments", "says"),
    [
        (lambda: None, "rules.csv nowhere.csv -o new.csv", "nowhere.csv: no such file; expected new records"),
        (lambda: None, "rules.csv people.csv -o out.csv", "out.csv: exists already"),
        (lambda: None, "rules.csv people.csv -o q.parquet", "q.parquet: the file is written as delimited text; found"),
        (lambda: None, "rules.csv people.csv -o q.csv.gz", "q.csv.gz: the file is written as delimited text; found"),
        (lambda: None, "people.csv people.csv -o new.csv", "people.csv: header: not a rulebook of reidsim share"),
        (lambda: Path("less.csv").write_text("age\n30\n"), "rules.csv less.csv -o new.csv", "column 'Geschlecht'"),
        (lambda: None, "rules.csv people.csv -o new.csv --keep pid", "the column could identify most people"),
        (break_rules(lambda header, rows: rows.append(rows[0])), "rules.csv people.csv -o new.csv",
         "two rules for the same values"),
        (break_rules(lambda header, rows: rows[2].__setitem__(3, "maybe")), "rules.csv people.csv -o new.csv",
         "rules.csv: row 3: the decision is neither yes nor no"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_ends_with_2_and_one_line(town, spoil, arguments, says):
    share(town, "no-protection")
    spoil()
    code, _, err = town("apply", *arguments.split())
    assert code == 2
    assert says in err
    assert len(err.splitlines()) == 1
    assert not any(Path(name).exists() for name in ("new.csv", "q.parquet", "q.csv.gz"))


def test_a_policy_that_tells_records_of_one_cell_apart_has_no_rules(town):
    frame = pd.read_csv("people.csv", dtype=str).assign(loss=np.tile([0, 10_000], 40))
    frame.to_csv("people.csv", index=False)
    priced = {"economics.columns": {"loss": "loss"}, "publisher.unit": "record", "publisher.policies": ["basic"]}
    reidsim.run("town.toml", overrides=priced).save("priced")
    code, _, err = town("share", "priced", "-o", "out.csv", "--rulebook", "rules.csv", "--accept-risk")
    assert code == 2
    assert "--rulebook" in err
    assert "rows 1 and " in err
    assert not Path("rules.csv").exists()
    assert not Path("out.csv").exists()


def test_subjects_who_mask_have_rules_too(town):
    Path("mask.toml").write_text(
        'game = "masking"\n[targets]\nfile = "people.csv"\n[resources.register]\nfile = "people.csv"\n'
        'attributes = ["age", "Geschlecht"]\n[economics]\nbenefit = 100\nloss = 150\ncost = 20\n'
        '[subjects]\nattributes = ["age", "Geschlecht"]\npolicies = ["no-attack-masking"]\n'
        '[[adversary.stages]]\nstage = "identify"\nresource = "register"\non = ["age", "Geschlecht"]\n'
    )
    reidsim.run("mask.toml").save("masked")
    code, _, err = town("share", "masked", "-o", "out.csv", "--rulebook", "rules.csv", "--accept-risk")
    assert code == 0, err
    code, _, _ = town("apply", "rules.csv", "people.csv", "-o", "again.csv")
    assert code == 0
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


@pytest.mark.parametrize("rulebook", ["out.csv", "./out.csv", "out.csv.json"])
def test_a_rulebook_with_the_path_of_the_released_file_is_refused(town, rulebook):
    options = ("--policy", "no-protection", "-o", "out.csv", "--rulebook", rulebook, "--accept-risk")
    code, _, err = town("share", "results", *options)
    assert code == 2
    assert "--rulebook: the released file or its sidecar has this path" in err
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("length", [245, 250, 5000])
def test_a_path_that_is_too_long_is_named(town, length):
    name = "x" * length + ".csv"
    for paths in ({"path": name}, {"path": "out.csv", "rulebook": name}, {"into": "x" * 300}):
        with pytest.raises(reidsim.InputError, match=r"x+(\.csv)?.*: cannot be written: File name too long"):
            reidsim.share("results", "no-protection", accept_risk=True, **paths)
    assert not Path("out.csv").exists()
