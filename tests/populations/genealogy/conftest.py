"""Fixtures of genealogy tests: a recipe, and parameters with few active rules."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reidsim.core.files import bundled_folder, read_toml
from reidsim.core.validation import validated
from reidsim.populations.genealogy.genealogy import GenealogyParameters, GenealogyRecipe

LOCI = """\
# source: made up
locus,mutation_rate,lowest,highest,first,frequencies
A,0.02,1,12,9,0.2 0.5 0.3
B,0.05,4,8,4,0.25 0.25 0.25 0.25
C,0,10,30,20,1
"""
SURNAMES = "name,bearers\nSMITH,50\nJONES,30\nO'NEIL,20\n"
STATES = "state,people\nEast,3\nWest,1\n"
WEALTH = "level,people\nlow,40\nmiddle,40\nhigh,20\n"
RECIPE = """\
kind = "ystr-genealogy"
title = "Three villages"
source = "made up"
seed = 5
[people]
subpopulations = [60, 80, 100]
generations = 5
[loci]
file = "loci.csv"
[founders]
birth_years = [1800, 1809]
surnames = { file = "surnames.csv", label = "name", people = "bearers" }
states = { file = "states.csv", label = "state", people = "people" }
wealth = { file = "wealth.csv", label = "level", people = "people" }
[migration]
generations = [0, 2]
shares = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0, 0.25, 0.75]]
[marriage]
ranks = [1, 2]
years_older = 5
years_younger = 2
accepted_anyway = 0.25
leaves_pool = 0.5
[children]
mean = 2.5
father_at_least = 20
mother_ages = [[18, 19, 1], [20, 29, 3]]
wealth_steps = [-1, 0, 1]
state_from = { father = 2, mother = 1, anywhere = 1 }
"""


@pytest.fixture
def villages(tmp_path: Path) -> Path:
    """Write the recipe of three villages and its files; return the recipe's path."""
    for name, text in (("loci", LOCI), ("surnames", SURNAMES), ("states", STATES), ("wealth", WEALTH)):
        (tmp_path / f"{name}.csv").write_text(text)
    path = tmp_path / "villages.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="session")
def parameters_of() -> Callable[[Path], GenealogyParameters]:
    """Return a function that reads a recipe as the package does."""

    def read(path: Path) -> GenealogyParameters:
        return validated(GenealogyRecipe, read_toml(path), path).parameters(path.parent, path.stem)

    return read


@pytest.fixture(scope="session")
def published(parameters_of: Callable[[Path], GenealogyParameters]) -> GenealogyParameters:
    """Return the parameters of the bundled recipe of full size."""
    return parameters_of(bundled_folder("populations") / "ystr-genealogy.toml")


@pytest.fixture(scope="session")
def one_village() -> Callable[..., GenealogyParameters]:
    """Return a function that makes parameters of one subpopulation."""
    return village


def village(
    size: int,
    generations: int = 2,
    *,
    n_loci: int = 1,
    rate: float = 0.0,
    bounds: tuple[int, int] = (1, 20),
    allele: int = 10,
    **others: object,
) -> GenealogyParameters:
    """Return parameters of one subpopulation without ranks and with few active rules.

    `others` override the defaults.
    """
    alleles = np.zeros((n_loci, 256))
    alleles[:, allele] = 1
    usual: dict[str, object] = {
        "name": "village",
        "subpopulations": np.array([size]),
        "generations": generations,
        "loci": tuple(f"L{at}" for at in range(n_loci)),
        "mutation_rates": np.full(n_loci, rate),
        "lowest": np.full(n_loci, bounds[0]),
        "highest": np.full(n_loci, bounds[1]),
        "founder_alleles": alleles,
        "surnames": ("SMITH", "JONES"),
        "surname_shares": np.array([0.5, 0.5]),
        "states": ("East", "West", "North"),
        "state_shares": np.array([0.5, 0.3, 0.2]),
        "wealth_shares": np.array([1.0]),
        "founder_birth_years": (1800, 1800),
        "migration_generations": (),
        "migration_shares": np.eye(1),
        "rank_starts": np.array([], dtype=np.int64),
        "years_older": 100,
        "years_younger": 100,
        "accepted_anyway": 1.0,
        "leaves_pool": 0.8,
        "mean_children": 1.6,
        "father_at_least": 16,
        "mother_ages": np.array([20]),
        "mother_age_shares": np.array([1.0]),
        "wealth_steps": np.array([0]),
        "state_from": np.array([1.0, 0.0, 0.0]),
    }
    return GenealogyParameters(**(usual | others))  # type: ignore[arg-type]
