"""The masking game from tables in memory: what a person should share of a genomic record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from reidsim.adversaries.multistage.attack import MultistageAttack, two_stage_attack
from reidsim.adversaries.multistage.stages import Identify
from reidsim.adversaries.multistage.world import MultistageWorld, PersonTable
from reidsim.errors import InputError, listed, locating, not_among, require_among
from reidsim.games.adversary_types import TypesGame
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.masking.fixed_policies import MASKING_POLICIES, PublishedPolicy, solve_policy
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.several_adversaries import against_whoever_comes
from reidsim.random_streams import replication_stream
from reidsim.releases.masking import MaskingSpace

Columns = pd.DataFrame | Mapping[str, ArrayLike]


def masking_game(
    targets: Columns,
    genealogy: Columns,
    registry: Columns,
    *,
    mutation_rates: Mapping[str, float],
    linked: Sequence[str] = ("age", "state"),
    gain: float | ArrayLike = 150.0,
    cost: float | ArrayLike = 10.0,
    confidence_threshold: float = 0.5,
    benefit: float | ArrayLike = 100.0,
    loss: float | ArrayLike = 150.0,
    weights: Mapping[str, float] | None = None,
    registered: ArrayLike | None = None,
    adversaries: Mapping[str, Mapping[str, Any]] | None = None,
) -> MaskingGame | TypesGame:
    """Return the game of Wan et al. 2021 on tables of whole numbers.

    Every target decides which attributes to share. The adversary may infer its surname from the loci shared, by a
    genealogy, and links surname and demographics to a registry.

    Parameters
    ----------
    targets, genealogy, registry : DataFrame or mapping of str to array
        A row per person. Targets have the columns of `linked`, the loci and ``surname``; the genealogy the loci and
        ``surname``; the registry those of `linked` and ``surname``. Values are whole numbers of 0 or more: codes,
        years, or repeats at a locus, where 0 is missing.
    mutation_rates : mapping of str to float
        Per generation, by locus; the loci are those of its keys.
    linked : sequence of str
        Attributes that are linked besides the surname.
    gain, cost : float or array, shape (n_targets,)
        Of the adversary, in currency units per record.
    confidence_threshold : float
        Confidence in the surname from which on it is used.
    benefit, loss : float or array, shape (n_targets,)
        Of a target, for sharing everything and for being re-identified.
    weights : mapping of str to float, optional
        Worth of each attribute; the same for all if not given.
    registered : array of bool, shape (n_targets,), optional
        Who really is in the registry; all if not given.
    adversaries : mapping of str to mapping, optional
        Several by name, of whom a target meets one. Each says what differs from the arguments `gain`, `cost`,
        `confidence_threshold` and `linked`; its ``weight``, how likely it is the one, in sum 1 (all alike if none says
        it); and ``infers=False`` if it has no genealogy.

    Raises
    ------
    InputError
        If a column is missing, an amount or value is out of its range, or an adversary says something else.
    """
    loci = tuple(mutation_rates)
    tables = {"targets": targets, "genealogy": genealogy, "registry": registry}
    named = {name: PersonTable(name, _columns(table)) for name, table in tables.items()}
    attributes = (*linked, *loci)
    unknown = [] if weights is None else [name for name in attributes if name not in weights]
    if unknown:
        raise InputError("no weight for an attribute", source="masking_game", where="argument 'weights'",
                         expected=f"one for each of {listed(attributes, 20)}", found=sorted(weights or ()))  # fmt: skip
    worth = np.array([1.0 if weights is None else float(weights[name]) for name in attributes])
    people = named.pop("targets")
    world = MultistageWorld(people, named, None if registered is None else np.asarray(registered, dtype=np.bool_))
    rates = np.array([float(rate) for rate in mutation_rates.values()])
    defaults = {"gain": gain, "cost": cost, "confidence_threshold": confidence_threshold, "linked": linked}
    space, both = MaskingSpace(attributes, worth, people.n_rows), two_stage_attack(loci, rates, linked=tuple(linked))

    def against(own: Mapping[str, Any]) -> MaskingGame:
        said = {**defaults, **own}
        # One object of the first stage infers for all of them.
        stages = (both.stages[0], Identify((*said["linked"], "surname")))
        attack = MultistageAttack(stages, _amount(said["gain"]), _amount(said["cost"]), said["confidence_threshold"])
        attack = attack if own.get("infers", True) else attack.one_stage()
        return MaskingGame(space, attack, world, _amount(benefit), _amount(loss))

    if not adversaries:
        return against({})
    known = (*defaults, "weight", "infers")
    for name, own in adversaries.items():
        where = f"argument 'adversaries', {name}"
        require_among("not said of an adversary", own, known, source="masking_game", where=where)
    alike = not any("weight" in own for own in adversaries.values())
    likely = {name: 1 / len(adversaries) if alike else float(own.get("weight", 0)) for name, own in adversaries.items()}
    with locating("masking_game"):
        return against_whoever_comes({name: against(own) for name, own in adversaries.items()}, likely)


def solve_masking(
    game: MaskingGame | TypesGame, policies: Sequence[str] = MASKING_POLICIES, *, seed: int = 0
) -> dict[str, Equilibrium]:
    """Pick what each target shares by the published policies, and work out what comes of it.

    Parameters
    ----------
    game : MaskingGame or TypesGame
    policies : sequence of str
        Of ``no-protection``, ``demographics-only``, ``random-opt-in``, ``random-masking``, ``opt-in``, ``masking``,
        ``no-attack-masking`` and ``one-stage-masking``; all if not given.
    seed : int
        Of the two random policies.

    Returns
    -------
    dict of str to Equilibrium
        By policy, arrays of shape (n_targets,).

    Raises
    ------
    InputError
        If there is no such policy.
    """
    return {
        policy: solve_policy(game, _published(policy), replication_stream(seed, "policies", 0)) for policy in policies
    }


def _published(policy: str) -> PublishedPolicy:
    for known in MASKING_POLICIES:
        if policy == known:
            return known
    raise not_among("no such policy", policy, MASKING_POLICIES, source="solve_masking", where="argument 'policies'")


def _columns(table: Columns) -> dict[str, Any]:
    return {str(name): np.asarray(values) for name, values in table.items()}


def _amount(given: float | ArrayLike) -> Any:
    return np.asarray(given, dtype=np.float64) if np.ndim(given) else float(given)  # type: ignore[arg-type]
