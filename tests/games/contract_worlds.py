"""Every adversary model on every strategy space, in two small worlds."""

from dataclasses import dataclass, replace

import numpy as np
from masking_worlds import person_table
from small_games import game_of

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.linkers import (
    KnowledgeLinker,
    LatticeAttackLinker,
    MaskedRecordLinker,
    MultistageLinker,
)
from reidsim.adversaries.multistage.attack import (
    Identify,
    InferByLinkage,
    InferSurname,
    MultistageAttack,
    MultistageWorld,
    PersonTable,
)
from reidsim.adversaries.response import AlwaysAttacks, NeverAttacks, OneShotAdversary, RandomAttacks
from reidsim.adversaries.sequential.attack import SequentialAttack, UnconfirmedSuccess
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.adversaries.testing import ListTester, ListTestingSection, MatchRateBelief
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.surname_inference import Ancestry
from reidsim.releases.lattice import MaskingSpace

GAIN, COST, BENEFIT, LOSS = 60.0, 9.0, 100.0, 150.0
ATTACK = SequentialAttack(gain=GAIN, access_cost=2.0, link_cost=0.5, exploit_cost=COST, penalty=30.0, prior=0.8)


@dataclass(frozen=True)
class Player:
    """An adversary in a world, with a factory for equal adversaries."""

    linker: object
    make: object
    space: object

    @property
    def adversary(self):
        return self.make()

    @property
    def game(self):
        n = self.space.n_records
        return RecordGame(self.space, self.linker, self.make(), np.full(n, BENEFIT), np.full(n, LOSS))


def in_steps(name):
    """Return whether an adversary attacks in steps instead of once."""
    return "fmdp" in name or name.endswith("testing")


def simple(linker, space):
    """Return factories of the adversaries that accept any linkage."""
    made = {
        "one-shot": lambda: OneShotAdversary(GAIN, COST),
        "fmdp": lambda: SequentialAdversary(ATTACK),
        "fmdp-unconfirmed": lambda: SequentialAdversary(
            ATTACK, signal=UnconfirmedSuccess(sensitivity=0.9, specificity=0.8)
        ),
        "testing": lambda: ListTester(GAIN, COST, MatchRateBelief(ListTestingSection(lists=2, price=40.0))),
        "always": lambda: AlwaysAttacks(GAIN, COST),
        "never": lambda: NeverAttacks(GAIN, COST),
        "random": lambda: RandomAttacks(GAIN, COST, rate=0.4),
    }
    return {name: Player(linker, make, space) for name, make in made.items()}


def knowledge_of(names, n):
    told = SourceProfile((AttributeGroup(names[:1], 0.9), AttributeGroup(names[1:2], 0.8)), 1.0)
    return Knowledge(names, (Source("a list", (told,), np.zeros(n, dtype=np.intp)),))


LEVELS = (((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)), ((0, 1, 2), (0, 0, 0)), ((0, 1), (0, 0)))
_rng = np.random.default_rng(np.random.SeedSequence(11))
PEOPLE = tuple(map(tuple, _rng.integers(0, (4, 3, 2), size=(50, 3)).tolist()))
BELIEVED = tuple(map(tuple, _rng.integers(0, (4, 3, 2), size=(40, 3)).tolist()))
SMALL = game_of(LEVELS, PEOPLE, PEOPLE[:12], benefit=BENEFIT, loss=LOSS, gain=GAIN, cost=COST, believed_people=BELIEVED)


def people_with_jobs():
    """Return people with the lattice's attributes and a job.

    The job equals the first attribute for most people.
    """
    codes = np.array(PEOPLE)
    rng = np.random.default_rng(np.random.SeedSequence(12))
    jobs = np.where(rng.random(len(codes)) < 0.8, codes[:, 0], rng.integers(0, 4, len(codes)))
    return np.column_stack([codes, jobs])


def lattice_players():
    lattice = SMALL.lattice()
    linker = SMALL.linker(lattice)
    sizes = GroupSizes(SMALL.population(), lattice)
    players = simple(linker, lattice)
    registry = PopulationLinker(sizes, population=sizes)
    players["fmdp-unknown"] = Player(registry, lambda: SequentialAdversary(ATTACK, len(PEOPLE)), lattice)
    columns = (*SMALL.names, "job")
    table = people_with_jobs()
    world = MultistageWorld(
        person_table("targets", columns, table[:12]),
        {"people": person_table("people", columns, table)},
    )
    names = SMALL.names
    stages = (InferByLinkage("job", "people", names[:2]), Identify((*names[:2], "job"), "people"))
    attack = MultistageAttack(stages, GAIN, COST, 0.3)
    staged = LatticeAttackLinker(attack, world, lattice)
    players["multistage"] = Player(staged, lambda: replace(attack), lattice)
    known = KnowledgeLinker(lattice, SMALL.population(), knowledge_of(names, 12))
    players["partial-knowledge"] = Player(known, lambda: OneShotAdversary(GAIN, COST), lattice)
    return players


def masking_world():
    """Return a two-stage attack on ten subjects: age in two levels, state, three loci."""
    rng = np.random.default_rng(np.random.SeedSequence(13))
    n, loci = 10, ("locus0", "locus1", "locus2")
    people = rng.integers(0, (4, 2, 4), size=(30, 3))
    men = np.column_stack([rng.integers(0, 4, (12, 3)), rng.integers(0, 4, 12)])
    # Half of the subjects have the alleles of a man with their surname.
    alleles = rng.integers(0, 4, (n, 3))
    for i in range(0, n, 2):
        relatives = men[men[:, 3] == people[i, 2]]
        if len(relatives):
            alleles[i] = relatives[0, :3]
    registered = np.arange(n) != 3
    targets = {"age": people[:n, 0], "state": people[:n, 1], "surname": people[:n, 2]}
    targets |= {name: alleles[:, j] for j, name in enumerate(loci)}
    world = MultistageWorld(
        PersonTable("targets", targets),
        {
            "genealogy": person_table("genealogy", (*loci, "surname"), men),
            "registry": person_table("registry", ("age", "state", "surname"), people),
        },
        registered,
    )
    kept = tuple(map(np.array, ([1.0, 0.5, 0.0], *[[1.0, 0.0]] * 4)))
    space = MaskingSpace(
        ("age", "state", *loci), np.array([2.0, 1.0, 0.5, 0.7, 1.1]), n, kept, ((np.array([0, 0, 1, 1]),), *[()] * 4)
    )
    stages = (
        InferSurname(loci, Ancestry(np.array([0.002381, 0.000425, 0.005762]))),
        Identify(("age", "state", "surname")),
    )
    return MaskingGame(space, MultistageAttack(stages, GAIN, COST, 0.2), world, BENEFIT, LOSS)


def masking_players():
    game = masking_world()
    space, one_stage = game.space, game.attack.one_stage()
    players = simple(MultistageLinker(one_stage, game.world, space), space)
    # Unlike the planner of the same name, it learns too late which subjects are not in the registry.
    players["one-stage"] = Player(players["one-shot"].linker, lambda: replace(one_stage), space)
    players["multistage"] = Player(
        MultistageLinker(game.attack, game.world, space), lambda: replace(game.attack), space
    )
    known = MaskedRecordLinker(
        space,
        game.world.targets,
        game.world.resource("registry"),
        knowledge_of(("age", "state"), space.n_records),
        game.world.registered,
    )
    players["partial-knowledge"] = Player(known, lambda: OneShotAdversary(GAIN, COST), space)
    return players


SPACES = {"lattice": lattice_players(), "masking": masking_players()}
PLAYERS = {f"{space}-{name}": player for space, players in SPACES.items() for name, player in players.items()}


def types_of(space, together="one-of"):
    """Return all adversaries of a space as equally likely types."""
    players = SPACES[space]
    share = 1 / len(players)
    types = [AdversaryType(name, share, player.linker, player.adversary) for name, player in players.items()]
    one = next(iter(players.values()))
    n = one.space.n_records
    return TypesGame(one.space, types, np.full(n, BENEFIT), np.full(n, LOSS), together)


def every_game():
    """Return every game that a defender may receive, by name."""
    games = {name: player.game for name, player in PLAYERS.items()}
    games["masking-compiled"] = masking_world()
    games["masking-one-stage-compiled"] = masking_world().one_stage()
    for space in SPACES:
        for together in ("one-of", "all", "worst"):
            games[f"{space}-types-{together}"] = types_of(space, together)
    return games
