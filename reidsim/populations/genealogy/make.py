"""Make the genealogy of a recipe."""

from __future__ import annotations

from pathlib import Path

from reidsim.bundled import resolve
from reidsim.errors import locating
from reidsim.memory import require_memory
from reidsim.populations.genealogy import simupop_engine, vectorised
from reidsim.populations.genealogy.genealogy import Genealogy, Progress
from reidsim.populations.genealogy.recipe import Engine, GenealogyRecipe
from reidsim.populations.recipe import Making
from reidsim.validation import read_toml, validated

# Bytes per person in addition to one byte per locus; fitted to the peak memory of making and writing 3,000,000 and
# 9,000,000 people.
_PERSON_BYTES = 60


def make_genealogy(
    recipe: str | Path,
    *,
    seed: int | None = None,
    engine: Engine | None = None,
    people: int | None = None,
    generations: int | None = None,
    progress: Progress | None = None,
) -> Genealogy:
    """Return the genealogy of a recipe.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, such as ``"ystr-genealogy"``, or a TOML file.
    seed : int, optional
        Default: the recipe's seed.
    engine : {"vectorised", "simupop"}, optional
        Default: the recipe's engine. Both engines follow the same rules, but draw differently from the same seed.
    people : int, optional
        Number of people per generation, divided among subpopulations in the recipe's proportions; default: the recipe's
        numbers.
    generations : int, optional
        Number of generations, including the founders; default: the recipe's number.
    progress : callable, optional
        Called as ``progress(task, generations done, generations)``.

    Returns
    -------
    Genealogy

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used, simuPOP is required but not installed, no couple is possible,
        or the genealogy does not fit into memory.
    """
    path = resolve(recipe, "populations", "population recipe")
    given = {key: value for key, value in (("seed", seed), ("engine", engine)) if value is not None}
    content = validated(GenealogyRecipe, read_toml(path) | given, path)
    at = Making(path.parent, path.stem, content.seed, progress=progress)
    with locating(path):
        return genealogy_of(content, at, people=people, generations=generations)


def genealogy_of(
    recipe: GenealogyRecipe, at: Making, *, people: int | None = None, generations: int | None = None
) -> Genealogy:
    """Return the genealogy of a parsed recipe; see `make_genealogy`."""
    parameters = recipe.parameters(at.folder, at.name).resized(people=people, generations=generations)
    needed = parameters.total * (_PERSON_BYTES + len(parameters.loci))
    require_memory(needed, f"{parameters.total:,} people do not fit into memory", where="people")
    simulate = simupop_engine.simulate if recipe.engine == "simupop" else vectorised.simulate
    return simulate(parameters, at.seed, progress=at.progress)
