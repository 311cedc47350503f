"""Unsafe files are never reported as safe: past errors and one property."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.core.errors import InputError

sys.path.insert(0, str(Path(__file__).parent / "drafts"))
from test_people_keys import claims


def one_error(result):
    code, out, err = result
    assert (code, err.count("\n")) == (2, 1), err
    assert "Traceback" not in err
    return out, err


def test_claims_by_insurance_number_are_counted_by_people(folder, reidsim_):
    """Counted by rows, each claim would hide among the claims of the same person."""
    table = claims(600, 100)
    table.to_csv("claims.csv", sep=";", index=False, encoding="latin-1")
    assert reidsim_("new", "claims.csv", "--encoding", "latin-1")[0] == 0
    out = reidsim_("run", "claims/claims.toml", "-o", "results")[1]
    assert out.splitlines()[0].startswith("Unit: people, identified by Versichertennummer; 100 people in 600 rows")
    runs = pd.read_parquet("results/runs.parquet").set_index("policy")
    people = table.drop_duplicates("Versichertennummer")
    sizes = people.groupby(["Geburtsdatum", "Geschlecht"])["Arztnummer"].transform("size")
    assert runs.loc["no-protection", "risk"] == pytest.approx((1 / sizes).mean(), abs=1e-12)
    _, err = one_error(reidsim_("share", "results", "-o", "shared.csv", "--policy", "no-protection"))
    assert "--max-risk" in err
    assert not Path("shared.csv").exists()


@pytest.mark.parametrize("population", ['path = "register.csv"', 'recipe = "register.toml"'])
def test_a_population_with_two_rows_of_a_person_is_refused(folder, reidsim_, population):
    """Counted by rows, a person would hide among the own rows."""
    Path("stays.csv").write_text("patient,age\nA,34\nA,34\nB,36\n")
    Path("register.toml").write_text('kind = "counts"\nfile = "register.csv"\ncolumns = { age = "age" }\n')
    hierarchy = '[attributes.age]\nhierarchy = { rule = "intervals", widths = [5], start = 30 }\n'
    head = f'[release]\npath = "stays.csv"\nperson = "patient"\n[population]\n{population}\n{hierarchy}'
    Path("stays.toml").write_text(f"{head}[economics]\nbenefit = 100\nloss = 60\ncost = 20\n")
    register = ["patient,age", "A,34", ",40", ",40", "B,36"]
    Path("register.csv").write_text("\n".join(register))
    assert "a population of 4" in reidsim_("check", "stays.toml")[1]
    Path("register.csv").write_text("\n".join([*register, "A,35"]))
    _, err = one_error(reidsim_("check", "stays.toml"))
    assert "register.csv: row 5, column 'patient': a second row of a person" in err


def test_kept_columns_that_single_people_out_are_not_written(folder, reidsim_):
    rng = np.random.default_rng(4)
    n = 400
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 30, n),
            "sex": rng.choice(["F", "M"], n),
            "wgt": np.repeat(rng.uniform(1, 9, n // 2).round(4), 2),
            "physician": rng.integers(100, 112, n),
            "date": rng.choice(pd.date_range("2023-01-01", periods=12).strftime("%Y-%m-%d"), n),
            "diagnosis": rng.choice(["I10", "E11", "J45", "F32"], n),
            "note": [f"the patient of room {i % 90} came with her sister and went home on foot" for i in range(n)],
        }
    )
    table.to_csv("visits.csv", index=False)
    names = [option for name in ("age", "sex") for option in ("--quasi-identifier", name)]
    assert reidsim_("new", "visits.csv", *names, "--one-row-per-person", "--cost", "100")[0] == 0
    assert reidsim_("run", "visits/visits.toml", "-o", "results")[0] == 0
    share = ["share", "results", "-o", "shared.csv", "--policy", "no-attack", "--accept-risk"]
    for keep in (["wgt"], ["physician", "date", "diagnosis"], ["note"]):
        options = [option for name in keep for option in ("--keep", name)]
        out, err = one_error(reidsim_(*share, *options))
        assert out == ""
        assert any(repr(name) in err for name in keep)
        if len(keep) > 1:
            one_error(reidsim_(*share, *options, "--unknown-to-outsiders", keep[0]))
        assert not list(Path().glob("shared.csv*"))
        declared = ["--unknown-to-outsiders", ",".join(keep), *(["--keep-free-text"] if keep == ["note"] else [])]
        assert reidsim_(*share, *options, *declared)[0] == 0
        told = json.loads(Path("shared.csv.json").read_text())["audit"]["singled_out"]
        assert {column["name"] for column in told["declared_unknown_to_outsiders"]} == set(keep)
        for path in Path().glob("shared.csv*"):
            path.unlink()


def test_a_declaration_stands_in_the_scenario_with_its_reason(folder, reidsim_):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"age": rng.integers(20, 24, 200), "cost": rng.uniform(1, 99, 200).round(2)})
    table.to_csv("stays.csv", index=False)
    reidsim_("new", "stays.csv", "--quasi-identifier", "age")
    toml = Path("stays/stays.toml")
    assert reidsim_("run", str(toml), "-o", "a")[0] == 0
    _, err = one_error(reidsim_("share", "a", "-o", "shared.csv", "--policy", "no-attack", "--keep", "cost"))
    assert "cost" in err
    toml.write_text(toml.read_text() + '\n[kept.cost]\nknown_to = "nobody"\nreason = "internal accounting"\n')
    assert reidsim_("run", str(toml), "-o", "b")[0] == 0
    code, out, err = reidsim_("share", "b", "-o", "shared.csv", "--policy", "no-attack", "--keep", "cost")
    assert code == 0, err
    assert "cost alone singles out" in out
    assert "internal accounting" in Path("shared.csv.json").read_text()
    toml.write_text(toml.read_text().replace('"nobody"', '"everybody"'))
    one_error(reidsim_("run", str(toml), "-o", "c"))


def fits(cell, value):
    """Return whether a released cell is consistent with a true value.

    Cells use the notation of the drafts.
    """
    if cell in ("*", value):
        return True
    if " or " in cell:
        return value in cell.split(" or ")
    low, _, high = cell.partition("-")
    if high and low.isdigit() and high.isdigit() and value.isdigit():
        return int(low) <= int(value) <= int(high)
    return cell.rstrip("*") != cell and value.startswith(cell.rstrip("*")) and len(cell) == len(value)


@examples(500, fast=4)
@given(data=st.data())
def test_whatever_is_shared_nobody_is_above_the_limit(data):
    """Compare every person with every row of the file, independently of the package."""
    seed, n = data.draw(st.integers(0, 10_000)), data.draw(st.integers(12, 40))
    rows = data.draw(st.sampled_from([1, 1, 3]))
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(n), rng.integers(1, rows + 1, n))
    table = pd.DataFrame(
        {
            "pid": [f"P{number:05d}" for number in of],
            "age": rng.integers(20, 20 + data.draw(st.integers(2, 40)), n)[of],
            "sex": rng.choice(["F", "M"], n)[of],
            "zip": rng.choice(["37201", "37202", "38101"], n)[of],
            "ward": rng.choice(list("ab"), len(of)),
            "cost": rng.integers(0, data.draw(st.sampled_from([2, 500])), len(of)),
        }
    ).astype("str")
    if rows == 1:
        table = table.drop(columns="pid")
    keep = data.draw(st.sets(st.sampled_from(["ward", "cost"])))
    declared = data.draw(st.sets(st.sampled_from(sorted(keep)))) if keep else set()
    policy = data.draw(st.sampled_from(["no-attack", "no-attack", "no-attack", "basic", "no-protection"]))
    loss, cost = data.draw(st.sampled_from([(300, 4), (300, 20), (60, 20), (300, 60)]))
    draft = reidsim.new(
        table,
        quasi_identifiers=["age", "sex", "zip"],
        loss=loss,
        cost=cost,
        one_row_per_person=rows == 1,
        person="pid" if rows > 1 else None,
    )
    result = draft.scenario.with_(policies=[policy]).run()
    with TemporaryDirectory() as place:
        path = Path(place) / "shared.csv"
        try:
            result.share(policy, path=path, keep=sorted(keep), unknown_to_outsiders=sorted(declared))
        except InputError:
            assert not list(Path(place).iterdir())
            return
        shared = pd.read_csv(path, dtype=str, keep_default_na=False)
        sidecar = json.loads(Path(f"{path}.json").read_text())
    known = ["age", "sex", "zip", *sorted(keep - declared)]
    event("shared")
    person = table["pid"].to_numpy() if rows > 1 else np.arange(len(table)).astype(str)
    rows_true, rows_shared = table[known].to_numpy().tolist(), shared[known].to_numpy().tolist()
    fit = np.array([[all(map(fits, row, true)) for true in rows_true] for row in rows_shared])
    fit = fit.reshape(len(shared), len(table))
    for row in fit:
        assert len(set(person[row])) >= 11
    # Rows keep the order of the records, so the record of each row is known if all are shared.
    if len(shared) == len(table):
        for record in range(len(table)):
            assert len(set(person[fit[:, record]])) >= 11
    assert not sidecar["risk"]["above_limit"]
    assert max(sidecar["risk"]["record"], sidecar["risk"]["person"]) <= 1 / 11 * (1 + 1e-9)
