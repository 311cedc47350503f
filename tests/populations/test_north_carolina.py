"""North Carolina's people and their voter registry (Xia et al. 2015, section 6)."""

import csv
import gzip
import io

import numpy as np
import pytest

from reidsim.bundled import bundled_folder
from reidsim.populations.catalogue import load_population
from reidsim.populations.population import Population
from reidsim.scenarios.load import load_scenario

FIGURES = bundled_folder("populations") / "figures" / "north-carolina-2010-zcta.csv.gz"
PEOPLE, LISTED = 9_535_477, 6_018_999


@pytest.fixture(scope="module")
def figures() -> list[dict[str, str]]:
    text = gzip.decompress(FIGURES.read_bytes()).decode()
    return list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))


@pytest.fixture(scope="module")
def carolina() -> Population:
    return load_population("north-carolina-2010")


@pytest.fixture(scope="module")
def voters() -> Population:
    return load_population("north-carolina-voters")


def dense(population: Population) -> np.ndarray:
    table = np.zeros(population.domain.shape, dtype=population.counts.dtype)
    table[tuple(population.cells.T)] = population.counts
    return table


def test_figures(figures: list[dict[str, str]]) -> None:
    # Sums of the source's columns over its 808 ZCTAs; the two excluded ones have no people.
    sums = {column: sum(int(row[column]) for row in figures) for column in figures[0] if column != "zcta"}
    assert sums == {
        "people": PEOPLE,
        "adults_white": 4_964_321,
        "adults_black": 1_480_769,
        "adults_aian": 79_295,
        "adults_api": 156_328,
        "adults_other": 7_167,
        "adults_two_or_more": 73_634,
        "adults_hispanic": 492_330,
    }
    assert len(figures) == 806
    assert all(int(row["people"]) > 0 for row in figures)
    assert all(sum(int(v) for k, v in row.items() if k.startswith("adults")) > 0 for row in figures)


def test_people_by_zip(carolina: Population, figures: list[dict[str, str]]) -> None:
    assert carolina.counts.dtype == np.int64
    assert carolina.counts.sum() == PEOPLE
    by_zip = dict(zip(carolina.domain["zip"].categories, dense(carolina).sum(axis=(0, 1, 2)).tolist(), strict=True))
    assert by_zip == {row["zcta"]: int(row["people"]) for row in figures}


def test_people_by_race_and_zip_are_rounded_shares_of_adults(
    carolina: Population, figures: list[dict[str, str]]
) -> None:
    # Race of Hispanic adults: 2010 Census Brief C2010BR-02.
    hispanic = {"white": 53.0, "black": 2.5, "aian": 1.4, "api": 0.5, "other": 42.7}
    share = {race: percent / sum(hispanic.values()) for race, percent in hispanic.items()}
    by_race_and_zip = dense(carolina).sum(axis=(0, 2))
    for column, row in enumerate(figures):
        adults = {race: int(row[f"adults_{race}"]) + share[race] * int(row["adults_hispanic"]) for race in hispanic}
        adults["other"] += int(row["adults_two_or_more"])
        exact = [int(row["people"]) * count / sum(adults.values()) for count in adults.values()]
        # Largest remainders: less than one person from the exact share.
        assert np.abs(by_race_and_zip[:, column] - exact).max() < 1


def test_the_prior_of_the_study_is_the_share_of_people_whom_the_registry_lists(
    carolina: Population, voters: Population
) -> None:
    # As printed; the paper's own count of the people, 9,553,967, is a little larger.
    prior = load_scenario("xia2015").scenario.adversary.sequential.prior
    assert prior == round(voters.total / carolina.total, 2) == 0.63
