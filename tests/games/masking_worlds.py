"""Random tiny worlds for the multistage attack, for reidsim and for the oracle."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from wan2021_oracle import PlainAttack, PlainGame, PlainStage, supported_weights

from reidsim.adversaries.multistage.attack import (
    Identify,
    InferByLinkage,
    InferSurname,
    MultistageAttack,
    MultistageWorld,
    PersonTable,
)
from reidsim.games.masking.game import MaskingGame
from reidsim.linkage.surname_inference import Ancestry
from reidsim.releases.lattice import MaskingSpace, minority_weights

RATES = (0.002381, 0.000425, 0.005762, 0.002381)
# Ages 0 .. 3 in two groups, as the middle level.
AGE_GROUPS = np.array([0, 0, 1, 1])


def person_table(name, attributes, values):
    """Return a `PersonTable` from an array of shape (n_rows, n_attributes)."""
    return PersonTable(name, dict(zip(attributes, np.asarray(values).T, strict=True)))


def two_stage_attack(loci, rates, *, linked=("age", "state"), gain=150.0, cost=10.0, confidence_threshold=0.5):
    """Return the two-stage attack of Wan et al. 2021 with its parameters.

    The first stage infers the surname through the resource "genealogy"; the second one links surname and demographics
    to the resource "registry".
    """
    stages = (InferSurname(loci, Ancestry(np.asarray(rates, dtype=np.float64))), Identify((*linked, "surname")))
    return MultistageAttack(stages, gain, cost, confidence_threshold)


@dataclass(frozen=True)
class SmallWorld:
    """A game of reidsim, and the plain game of each of its targets."""

    game: MaskingGame
    plain: list[PlainGame]

    @property
    def space(self):
        return self.game.space

    def levels(self, strategy):
        return tuple(self.space.all_levels(strategy).tolist())


@st.composite
def small_worlds(draw, chain="two-stage", levels=False, most_targets=3, supported=False, overconfident=False):
    """Draw a world with few values, so that ties are frequent.

    `chain` is 'two-stage', 'neighbour' or 'three-stage'. `supported` worlds have minority support of a degree in [-2,
    2], `overconfident` worlds an overconfident adversary.
    """
    n_loci = draw(st.integers(1, 3))
    n_targets = draw(st.integers(1, most_targets))
    n_men, n_people = draw(st.integers(1, 8)), draw(st.integers(n_targets, 9))
    loci = tuple(f"locus{j}" for j in range(n_loci))

    def table(n, sizes, low=0):
        return draw(st.lists(st.tuples(*[st.integers(low, s - 1) for s in sizes]), min_size=n, max_size=n))

    # Age, state, ZIP code and surname.
    people = np.array(table(n_people, (4, 2, 3, 4)))
    men = np.array(table(n_men, [*[4] * n_loci, 4]))
    alleles = np.array(table(n_targets, [4] * n_loci))
    voters = np.array(table(draw(st.integers(1, 8)), (4, 2, 3, 4)))
    registered = np.array(draw(st.lists(st.booleans(), min_size=n_targets, max_size=n_targets)))
    if draw(st.booleans()):
        registered[:] = True
    demographics = np.where(registered[:, None], people[:n_targets], np.array(table(n_targets, (4, 2, 3, 4))))
    columns = {"age": 0, "state": 1, "zip": 2, "surname": 3}
    targets = {name: demographics[:, j] for name, j in columns.items()}
    targets |= {name: alleles[:, j] for j, name in enumerate(loci)}
    world = MultistageWorld(
        PersonTable("targets", targets),
        {
            "genealogy": person_table("genealogy", (*loci, "surname"), men),
            "voters": person_table("voters", tuple(columns), voters),
            "registry": person_table("registry", tuple(columns), people),
        },
        registered,
    )
    rates = RATES[:n_loci]
    method = "nearest-neighbour" if chain == "neighbour" else "tmrca"
    prices = draw(st.tuples(st.sampled_from((0.0, 1.0)), st.sampled_from((0.0, 2.0))))
    by_loci = InferSurname(loci, Ancestry(np.array(rates)), method=method, price=prices[0])
    on = ("age", "state", "surname")
    if chain == "three-stage":
        voter_list = InferByLinkage("zip", "voters", ("age", "state", "surname"), prices[1])
        stages = (by_loci, voter_list, Identify((*on, "zip")))
    else:
        stages = (by_loci, Identify(on))
    gain, cost = draw(st.sampled_from((150.0, 0.0, 30.0))), draw(st.sampled_from((10.0, 0.0, 50.0, 75.0)))
    theta = draw(st.sampled_from((0.0, 0.3, 0.5, 1.0)))
    attack = MultistageAttack(stages, gain, cost, theta, overconfident)
    attributes = ("age", "state", *loci)
    weights = draw(st.lists(st.sampled_from((1.0, 2.0, 0.5)), min_size=n_loci + 2, max_size=n_loci + 2))
    kept = [(1.0, 0.0)] * (n_loci + 2)
    groups = [()] * (n_loci + 2)
    if levels:
        kept[0], groups[0] = (1.0, 0.5, 0.0), (AGE_GROUPS,)
    own_weights, all_weights, total = [weights] * n_targets, np.array(weights), sum(weights)
    if supported:
        # Degrees are rounded so that payoffs are not almost equal.
        alpha = draw(st.floats(-2.0, 2.0).map(lambda degree: round(degree, 2)))
        carried = [people[:, 0], people[:, 1], *men[:, :n_loci].T]
        values = np.column_stack([targets[name] for name in attributes])
        at = range(2, n_loci + 2)
        unknown = (None, None, *[0] * n_loci)
        all_weights = minority_weights(np.array(weights), values, tuple(carried), alpha, unknown)
        plain_columns = [column.tolist() for column in carried]
        own_weights = [supported_weights(weights, row, plain_columns, alpha, at) for row in values.tolist()]
    space = MaskingSpace(
        attributes, all_weights, n_targets, tuple(np.array(k) for k in kept), tuple(groups), total_weight=total
    )
    benefit, loss = draw(st.sampled_from((100.0, 20.0))), draw(st.sampled_from((150.0, 40.0)))
    game = MaskingGame(space, attack, world, benefit, loss)

    def rows(array):
        return [{name: int(row[j]) for name, j in columns.items()} for row in array]

    plain_stages = [
        PlainStage(
            "neighbour" if chain == "neighbour" else "tmrca", "surname", prices[0],
            genealogy=[(row[:-1].tolist(), int(row[-1])) for row in men], loci=loci, rates=rates,
        )
    ]  # fmt: skip
    if chain == "three-stage":
        plain_stages.append(PlainStage("link", "zip", prices[1], rows=rows(voters), on=("age", "state", "surname")))
    plain = [
        PlainGame(
            attack=PlainAttack(
                target={name: int(column[i]) for name, column in targets.items()},
                attributes=attributes,
                stages=plain_stages,
                registry=rows(people),
                on=stages[-1].on,
                gain=gain,
                cost=cost,
                theta=theta,
                registered=bool(registered[i]),
                overconfident=overconfident,
                groups={"age": {1: AGE_GROUPS.tolist()}},
            ),
            weights=tuple(own_weights[i]),
            total=total,
            kept=tuple(kept),
            benefit=benefit,
            loss=loss,
        )
        for i in range(n_targets)
    ]
    return SmallWorld(game, plain)
