"""Make genealogies by the name of their recipe."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from reidsim.bundled import resolve
from reidsim.errors import InputError, locating, require_among
from reidsim.memory import require_memory
from reidsim.populations.genealogy import simupop_engine, vectorised
from reidsim.populations.genealogy.columns import Progress
from reidsim.populations.genealogy.genealogy import Genealogy
from reidsim.populations.genealogy.parameters import genealogy_parameters
from reidsim.populations.genealogy.recipe import Engine, GenealogyRecipe
from reidsim.validation import read_toml, validated

# Bytes of a person besides one per locus, fitted to peaks of 3,000,000 and 9,000,000 people made and written.
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
    """Make the genealogy of a recipe.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, such as ``"ystr-genealogy"``, or a TOML file.
    seed : int, optional
        The recipe's, if not given.
    engine : {"vectorised", "simupop"}, optional
        The recipe's, if not given. Both follow the same rules; one seed gives them different draws.
    people : int, optional
        People of each generation, in the recipe's proportions of subpopulations (the recipe's numbers, if not given).
    generations : int, optional
        With the founders (the recipe's, if not given).
    progress : callable, optional
        Called as ``progress(task, generations done, generations)``.

    Returns
    -------
    Genealogy

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used, simuPOP is needed and not installed, no couple can form, or
        the genealogy does not fit into memory.
    """
    path = resolve(recipe, "populations", "population recipe")
    content = validated(GenealogyRecipe, read_toml(path), path)
    own = content.seed if seed is None else seed
    size = {"people": people, "generations": generations}
    with locating(path):
        return genealogy_of(content, path.parent, name=path.stem, seed=own, engine=engine, **size, progress=progress)


def genealogy_of(
    recipe: GenealogyRecipe,
    folder: Path,
    *,
    name: str,
    seed: int,
    engine: Engine | None = None,
    people: int | None = None,
    generations: int | None = None,
    progress: Progress | None = None,
) -> Genealogy:
    """Make the genealogy of a parsed recipe whose files are in `folder`; see `make_genealogy`."""
    parameters = genealogy_parameters(recipe, folder, name=name).resized(people=people, generations=generations)
    needed = parameters.total * (_PERSON_BYTES + len(parameters.loci))
    require_memory(needed, f"{parameters.total:,} people do not fit into memory", where="people")
    chosen = recipe.engine if engine is None else engine
    require_among("unknown engine", (chosen,), get_args(Engine), where="engine")
    if seed < 0:
        raise InputError("value not allowed", where="seed", found=seed, expected="0 or more")
    simulate = simupop_engine.simulate if chosen == "simupop" else vectorised.simulate
    return simulate(parameters, seed, progress=progress)
