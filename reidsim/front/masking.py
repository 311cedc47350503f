"""Build and solve the masking game for genomic records from tables in memory."""

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
    """Build the masking game of Wan et al. 2021 from tables of whole numbers.

    Each target chooses the attributes to share. The adversary may infer a target's surname from the shared loci with a
    genealogy, and links surname and demographics to a registry.

    Parameters
    ----------
    targets, genealogy, registry : DataFrame or mapping of str to array
        One row per person. Targets have the columns of `linked`, the loci and ``surname``; the genealogy has the loci
        and ``surname``; the registry has the columns of `linked` and ``surname``. Values are whole numbers of 0 or
        more: codes, years, or repeats at a locus, where 0 is missing.
    mutation_rates : mapping of str to float
        Mutation rate per generation by locus; the keys define the loci.
    linked : sequence of str
        Attributes linked in addition to the surname.
    gain, cost : float or array, shape (n_targets,)
        The adversary's gain and cost, in currency units per record.
    confidence_threshold : float
        Minimum confidence at which the adversary uses an inferred surname.
    benefit, loss : float or array, shape (n_targets,)
        A target's benefit of sharing all attributes, and its loss if re-identified, in currency units.
    weights : mapping of str to float, optional
        Weight of each attribute in the benefit; equal if not given.
    registered : array of bool, shape (n_targets,), optional
        Whether each target is really in the registry; all are if not given.
    adversaries : mapping of str to mapping, optional
        Several adversary types by name; each target faces one of them. A type may override the arguments `gain`,
        `cost`, `confidence_threshold` and `linked`. Its ``weight`` is its prior probability; weights sum to 1 and are
        equal if no type sets one. ``infers=False`` means that it has no genealogy.

    Raises
    ------
    InputError
        If a column is missing, a value is out of range, or an adversary has an unknown key.
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
        # All types share one first-stage object, so that surnames are inferred only once.
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
    """Choose the attributes that each target shares under published policies.

    Parameters
    ----------
    game : MaskingGame or TypesGame
    policies : sequence of str
        Any of ``no-protection``, ``demographics-only``, ``random-opt-in``, ``random-masking``, ``opt-in``,
        ``masking``, ``no-attack-masking`` and ``one-stage-masking``; all if not given.
    seed : int
        Seed of the two random policies.

    Returns
    -------
    dict of str to Equilibrium
        Strategies and payoffs by policy, as arrays of shape (n_targets,).

    Raises
    ------
    InputError
        If a policy is unknown.
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
