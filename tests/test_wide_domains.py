"""Studies with domains larger than 64-bit numbers, of which few cells occur."""

import numpy as np
import pandas as pd
import pytest

import reidsim

COPIES, VALUES = 9, 130


def write_study(folder, copies, kind, text):
    """Write a study whose attributes are all copies of the first one."""
    rng = np.random.default_rng(1)
    # Every value occurs one to three times, so that a domain of nine copies has 130**9 > 2**62 cells.
    values = np.repeat(np.arange(VALUES), rng.integers(1, 4, VALUES))
    people = np.concatenate([values, np.repeat(np.arange(VALUES), rng.integers(0, 3, VALUES))])
    names = [f"a{number}" for number in range(copies)]
    records = pd.DataFrame(dict.fromkeys(names, values))
    records.assign(day=np.arange(len(values)) % 3).to_csv(folder / "records.csv", index=False)
    pd.DataFrame(dict.fromkeys(names, people)).groupby(names).size().rename("people").reset_index().to_csv(
        folder / "people.csv", index=False
    )
    columns = "".join(f'{name} = "{name}"\n' for name in names)
    (folder / "people.toml").write_text(
        f'kind = "counts"\nfile = "people.csv"\ncount = "people"\nsource = "none"\n[columns]\n{columns}'
    )
    sections = "".join(f'[attributes.{name}]\nhierarchy = {{ rule = "suppress" }}\n' for name in names)
    path = folder / f"{kind}.toml"
    path.write_text(f"{text}{sections}[economics]\nbenefit = 100\nloss = 160\ncost = 70\n")
    return path


STUDIES = {
    "population": '[release]\npath = "records.csv"\n[population]\nrecipe = "people.toml"\n[adversary]\n'
    'risk = "journalist"\n[publisher]\npolicies = ["no-protection", "basic", "no-attack"]\n',
    "dynamic": 'game = "dynamic"\n[release]\npath = "records.csv"\nperiod = "day"\n[population]\n'
    'recipe = "people.toml"\n[publisher]\npolicies = ["no-protection", "basic", "no-attack"]\n',
}


@pytest.mark.parametrize("kind", STUDIES)
def test_attributes_that_add_no_information_change_no_payoff_however_many_cells_they_make(tmp_path, kind):
    summaries = []
    for copies in (1, COPIES):
        (tmp_path / f"{copies}").mkdir()
        path = write_study(tmp_path / f"{copies}", copies, kind, STUDIES[kind])
        summaries.append(reidsim.run(path).summary)
    narrow, wide = summaries
    for column in ("publisher_payoff", "adversary_payoff", "utility", "risk"):
        np.testing.assert_allclose(wide[column], narrow[column], atol=1e-9)
    assert len(set(narrow["publisher_payoff"])) > 1
