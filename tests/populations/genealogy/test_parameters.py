"""Genealogy recipes: the resulting parameters, and errors in unusable recipes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reidsim.core.errors import InputError

# Mutation rates (x 1000) and largest alleles of the research code of Wan et al. 2021
RATES = [2.381, 2.081, 1.781, 2.803, 2.298, 3.081, 0.552, 0.893, 1.498, 0.425, 5.762, 1.590, 4.769, 6.359, 3.754, 2.180]
LARGEST = [20, 28, 17, 36, 30, 16, 20, 18, 22, 19, 19, 25, 23, 24, 30, 20]


def test_the_published_recipe(published):
    p = published
    assert p.subpopulations.tolist() == [20_000] * 3
    assert (p.generations, p.people, p.total) == (10, 60_000, 600_000)
    np.testing.assert_allclose(p.mutation_rates, np.array(RATES) / 1000, rtol=1e-12)
    assert p.highest.tolist() == LARGEST
    assert (p.loci[0], p.loci[3], p.loci[15]) == ("DYS19", "DYS389II", "GATA H4")
    np.testing.assert_allclose(p.founder_alleles[0, 11:18], [0, 0.1, 0.36, 0.32, 0.16, 0.06, 0], atol=1e-12)
    np.testing.assert_allclose(p.founder_alleles.sum(axis=1), 1)
    assert (len(p.surnames), p.surnames[0], len(p.states), p.states[0]) == (1000, "SMITH", 51, "California")
    # Bearers in the 2000 Census, and people of California and the United States in the 2010 Census
    assert p.surname_shares[0] / p.surname_shares[1] == pytest.approx(2_376_206 / 1_857_160)
    assert p.state_shares[0] == pytest.approx(37_254_503 / 308_745_538, rel=1e-3)
    assert len(p.wealth_shares) == 41
    assert p.rank_starts.tolist() == [16, 40]
    assert p.mother_ages.tolist() == list(range(15, 35))
    assert p.mother_age_shares[0] / p.mother_age_shares[-1] == pytest.approx(50_226 / 70_699)
    np.testing.assert_allclose(p.migration_shares, 0.1 + 0.7 * np.eye(3))
    assert p.migration_generations == (0, 5)
    np.testing.assert_allclose(p.state_from, 1 / 3)
    assert (p.accepted_anyway, p.leaves_pool, p.mean_children, p.father_at_least) == (0.2, 0.8, 1.6, 16)
    assert (p.years_older, p.years_younger, p.founder_birth_years) == (12, 2, (1720, 1749))


def test_more_people_than_rows_can_be_numbered(villages, parameters_of):
    with pytest.raises(InputError, match="people: too many people; found 2147484000"):
        replace(parameters_of(villages), subpopulations=np.array([2_147_484]), generations=1000)


def replaced(path: Path, file: str, old: str, new: str) -> None:
    target = path if file == "villages.toml" else path.parent / file
    text = target.read_text()
    assert text.count(old) >= 1
    target.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("loci.csv", "0.2 0.5 0.3", "0.2 0.5 0.2",
         "row 1, column 'frequencies': shares do not sum to 1; found 0.9"),
        ("loci.csv", "0.2 0.5 0.3", "", "row 1, column 'frequencies': invalid frequencies"),
        ("loci.csv", "B,0.05,", "B,,", "row 2, column 'mutation_rate': not a number of 0 or more; found ''"),
        ("loci.csv", "B,0.05,", "A,0.05,", "row 2, column 'locus': name given twice; found 'A'"),
        ("loci.csv", "B,0.05,", "surname,0.05,", "'locus': locus name reserved for another column; found 'surname'"),
        ("loci.csv", "4,8,4", "4,256,4", "row 2, column 'lowest and highest': invalid bounds of alleles"),
        ("loci.csv", "4,8,4", "4,8,6", "allele of a founder outside the bounds; found '6 to 9'"),
        ("surnames.csv", "JONES", "SMITH", "row 2, column 'name': name given twice; found 'SMITH'"),
        ("states.csv", "East,3\nWest,1", "East,0\nWest,0", "column 'people': weights sum to 0"),
        ("villages.toml", "[0.1, 0.8, 0.1]", "[0.1, 0.8, 0.2]",
         "migration.shares: row 2: shares do not sum to 1; found 1.1"),
        ("villages.toml", "[0.1, 0.8, 0.1]", "[0.1, 0.9]", "found 'rows of [3, 2, 3]'; expected 3 rows of 3"),
        ("villages.toml", "[1800, 1809]", "[1810, 1809]", "founders.birth_years: the first year is after the last"),
        ("villages.toml", "ranks = [1, 2]", "ranks = [2, 2]", "marriage.ranks: wealth levels are not increasing"),
        ("villages.toml", "[20, 29, 3]", "[19, 29, 3]", "children.mother_ages: age in two groups; found 19"),
        ("villages.toml", "father = 2, mother = 1, anywhere = 1", "father = 0, mother = 0, anywhere = 0",
         "children.state_from: weights sum to 0"),
        ("villages.toml", "wealth_steps = [-1, 0, 1]", "wealth_steps = []", "children.wealth_steps"),
        ("villages.toml", "leaves_pool = 0.5", "leaves_pool = 1.5", "marriage.leaves_pool"),
        ("villages.toml", "leaves_pool", "leave_pool", "did you mean 'leaves_pool'?"),
    ],
)  # fmt: skip
def test_recipe_that_cannot_be_used(villages, parameters_of, file, old, new, message):
    replaced(villages, file, old, new)
    with pytest.raises(InputError) as caught:
        parameters_of(villages)
    assert message in str(caught.value)
    if file.endswith(".csv"):
        assert caught.value.source == str(villages.parent / file)


def test_wealth_that_can_outgrow_its_column(villages, parameters_of):
    replaced(villages, "villages.toml", "wealth_steps = [-1, 0, 1]", "wealth_steps = [-100, 100]")
    with pytest.raises(InputError, match=r"children\.wealth_steps: .* is too high; found 40003"):
        replace(parameters_of(villages), generations=400)
