"""Genealogies by the name of their recipe, kept on disk where making one may take longer than reading it."""

from __future__ import annotations

import hashlib
import os
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import get_args

from reidsim.bundled import resolve
from reidsim.errors import InputError, listed, locating, nearest
from reidsim.memory import require_memory
from reidsim.populations.genealogy import simupop_engine, vectorised
from reidsim.populations.genealogy.columns import Progress
from reidsim.populations.genealogy.genealogy import Genealogy
from reidsim.populations.genealogy.genealogy_file import read_genealogy, write_genealogy
from reidsim.populations.genealogy.parameters import GenealogyParameters, genealogy_parameters
from reidsim.populations.genealogy.recipe import Engine, GenealogyRecipe
from reidsim.validation import read_toml, validated

CACHE_VARIABLE = "REIDSIM_CACHE"
# Smaller ones are made by the default engine before a file could be found and read.
_KEPT_FROM = 100_000
# Bytes of a person besides one for each locus, fitted to peaks of 3,000,000 and 9,000,000 people made and written.
_OF_PERSON = 60


def make_genealogy(
    recipe: str | Path,
    *,
    seed: int | None = None,
    engine: Engine | None = None,
    people: int | None = None,
    generations: int | None = None,
    progress: Progress | None = None,
    cache: bool | Path = True,
) -> Genealogy:
    """Make the genealogy of a recipe, or read it if the same one was made before.

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
    cache : bool or Path
        Whether to keep genealogies of 100,000 people or more, and those of simuPOP, or the folder for them. The usual
        one is that of the variable ``REIDSIM_CACHE`` (``off``: keep none), else ``reidsim`` in the user's cache folder
        (``XDG_CACHE_HOME``). A kept file that is damaged is made anew, with a warning.

    Returns
    -------
    Genealogy

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used, simuPOP is needed and not installed, people die out, or
        memory does not hold them.
    """
    path = resolve(recipe, "populations", "population recipe")
    content = validated(GenealogyRecipe, read_toml(path), path)
    with locating(path):
        return genealogy_of(
            content,
            path.parent,
            name=path.stem,
            seed=content.seed if seed is None else seed,
            engine=engine,
            people=people,
            generations=generations,
            progress=progress,
            cache=cache,
        )


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
    cache: bool | Path = True,
) -> Genealogy:
    """Make the genealogy of a recipe that has been read, whose files are in `folder`; see `make_genealogy`."""
    parameters = genealogy_parameters(recipe, folder, name=name)
    parameters = parameters.resized(people=people, generations=generations)
    needed = parameters.total * (_OF_PERSON + len(parameters.loci))
    require_memory(needed, f"{parameters.total:,} people are too many for memory", where="people")
    chosen = _known_engine(recipe.engine if engine is None else engine)
    if seed < 0:
        raise InputError("value not allowed", where="seed", found=seed, expected="0 or more")
    kept_in = _cache_folder(cache) if chosen == "simupop" or parameters.total >= _KEPT_FROM else None
    return _kept_or_made(parameters, seed, chosen, kept_in, progress)


def _known_engine(name: str) -> Engine:
    for engine in get_args(Engine):
        if name == engine:
            return engine  # type: ignore[no-any-return]
    names = get_args(Engine)
    raise InputError("no such engine", where="engine", found=name, expected=listed(names), hint=nearest(name, names))


def _kept_or_made(
    parameters: GenealogyParameters, seed: int, engine: Engine, folder: Path | None, progress: Progress | None
) -> Genealogy:
    simulate = simupop_engine.simulate if engine == "simupop" else vectorised.simulate
    if folder is None:
        return simulate(parameters, seed, progress=progress)
    path = folder / f"genealogy-{_key(parameters, seed, engine)}.parquet"
    if path.exists():
        try:
            kept = read_genealogy(path)
            if (kept.recipe, kept.engine, kept.seed, len(kept)) == (parameters.name, engine, seed, parameters.total):
                return kept
            problem = f"{path}: not the genealogy that belongs there"
        except InputError as error:
            problem = str(error)
        warnings.warn(f"{problem}; it is made anew", stacklevel=2)
    made = simulate(parameters, seed, progress=progress)
    try:
        write_genealogy(made, path)
    except InputError as error:
        warnings.warn(f"{error}; the genealogy is not kept", stacklevel=2)
    return made


def _key(parameters: GenealogyParameters, seed: int, engine: Engine) -> str:
    """Return a name for all that decides a genealogy: rules, seed, engine and the versions of code that draws."""
    if engine == "simupop":
        simupop_engine.import_simupop()
        code = f"simupop {simupop_engine.VERSION}, simuPOP {version('simuPOP')}"
    else:
        code = f"vectorised {vectorised.VERSION}, numpy {version('numpy')}"
    text = f"{parameters.digest()}, seed {seed}, {code}, reidsim {version('reidsim')}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _cache_folder(cache: bool | Path) -> Path | None:
    if isinstance(cache, Path):
        return cache
    chosen = os.environ.get(CACHE_VARIABLE, "")
    if not cache or chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "reidsim"
