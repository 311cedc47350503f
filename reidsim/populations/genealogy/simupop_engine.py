"""An engine for genealogies that uses simuPOP, like Wan et al. 2021.

simuPOP is described in Peng and Kimmel, Bioinformatics 21, 2005. The operators of simuPOP draw founders, mutate,
migrate, transmit the Y chromosome and number the individuals. A parents chooser and taggers in this module add
marriages, birth years, wealth and states. All draws come from simuPOP's random number generator, which is global to the
process: a simulation sets its seed and does not restore its state afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.populations.genealogy.genealogy import (
    MAN,
    NO_ALLELE,
    TASK,
    WOMAN,
    Columns,
    Genealogy,
    GenealogyParameters,
    Mutations,
    Progress,
    as_genealogy,
    empty_columns,
    no_couple,
)

_RECORDED = ("surname", "birth_year", "state", "wealth", "rank")


def simulate(parameters: GenealogyParameters, seed: int, *, progress: Progress | None = None) -> Genealogy:
    """Simulate a genealogy with simuPOP.

    Parameters
    ----------
    parameters : GenealogyParameters
        Parameters of the recipe.
    seed : int
        Root seed; it determines the result exactly, through simuPOP's global generator.
    progress : callable, optional
        Called as ``progress(task, generations done, generations)``.

    Returns
    -------
    Genealogy

    Raises
    ------
    InputError
        If simuPOP is not installed, or no couple is possible in a subpopulation.
    """
    try:
        import_module("simuOpt").setOptions(quiet=True, alleleType="short")
        sim: Any = import_module("simuPOP")
    except ImportError:
        raise InputError(
            "engine simupop needs package simuPOP, which is not installed",
            where="engine",
            found="simupop",
            hint="run pip install 'reidsim[simupop]', or set engine = \"vectorised\"",
        ) from None
    # simuPOP uses 32-bit seeds, and replaces seed 0 with a random one.
    entropy = np.random.SeedSequence(seed, spawn_key=tuple(b"simupop")).generate_state(1)[0]
    sim.setRNG(seed=max(int(entropy), 1))
    return _Simulation(sim, parameters, progress, empty_columns(parameters)).run(seed)


@dataclass
class _Simulation:
    """One simulation in simuPOP, which fills `columns` and collects `mutations`.

    In simuPOP's population, the lowest allele of each locus is 0, simuPOP's lower bound. `failure` is the error that
    ended the simulation, or None.
    """

    sim: Any
    p: GenealogyParameters
    progress: Progress | None
    columns: Columns
    mutations: list[Mutations] = field(default_factory=list)
    failure: InputError | None = None

    def run(self, seed: int) -> Genealogy:
        sim, p, rng = self.sim, self.p, self.sim.getRNG()
        population = sim.Population(
            size=p.subpopulations.tolist(),
            loci=[len(p.loci)],
            chromTypes=[sim.CHROMOSOME_Y],
            infoFields=["ind_id", "father_id", "mother_id", "migrate_to", *_RECORDED],
        )
        ids = sim.IdTagger()
        ids.reset(1)
        first, last = p.founder_birth_years
        founding = [
            sim.InitSex(sex=[sim.MALE, sim.FEMALE]),
            ids,
            sim.InitInfo(lambda: first + rng.randInt(last - first + 1), infoFields="birth_year"),
        ]
        for name, shares in (("surname", p.surname_shares), ("state", p.state_shares), ("wealth", p.wealth_shares)):
            founding.append(sim.InitInfo(sim.WeightedSampler(shares.tolist()).draw, infoFields=name))
        for locus, frequencies in enumerate(p.founder_alleles):
            bounded = frequencies[p.lowest[locus] : p.highest[locus] + 1]
            founding.append(sim.InitGenotype(freq=bounded.tolist(), loci=locus))
        # Applied directly, because simuPOP skips initial operators if there is no generation to evolve.
        for operator in founding:
            operator.apply(population)
        ranks = np.searchsorted(p.rank_starts, population.indInfo("wealth"), side="right")
        population.setIndInfo(ranks.tolist(), "rank")
        self._record(population)
        mutators = [
            sim.StepwiseMutator(rates=float(rate), loci=locus, maxAllele=int(p.highest[locus] - p.lowest[locus]))
            for locus, rate in enumerate(p.mutation_rates)
            if rate > 0
        ]
        # simuPOP would interpret an empty list as every generation.
        moves, at = p.migration_shares.tolist(), list(p.migration_generations)
        population.evolve(
            preOps=[
                *mutators,
                sim.PyOperator(self._record_mutations),
                *([sim.Migrator(rate=moves, mode=sim.BY_PROPORTION, at=at)] if at else []),
                sim.PyOperator(self._can_marry),
            ],
            matingScheme=sim.HomoMating(
                sim.PyParentsChooser(self._couples),
                sim.OffspringGenerator(ops=self._births(ids), numOffspring=(sim.POISSON_DISTRIBUTION, p.mean_children)),
                subPopSize=p.subpopulations.tolist(),
            ),
            postOps=[sim.PyOperator(self._record)],
            gen=p.generations - 1,
        )
        if self.failure is not None:
            raise self.failure
        return as_genealogy(p, self.columns, self.mutations, engine="simupop", seed=seed)

    def _births(self, ids: Any) -> list[Any]:
        sim, p, rng = self.sim, self.p, self.sim.getRNG()
        mother_age = sim.WeightedSampler(p.mother_age_shares.tolist())
        source = sim.WeightedSampler(p.state_from.tolist())
        anywhere = sim.WeightedSampler(p.state_shares.tolist())
        ages, steps = p.mother_ages.tolist(), p.wealth_steps.tolist()

        # simuPOP matches fields by argument name, and passes the father's value first.
        def set_birth_year(birth_year: list[float]) -> float:
            return float(max(birth_year[1] + ages[mother_age.draw()], birth_year[0] + p.father_at_least))

        def set_wealth(wealth: list[float], rank: list[float]) -> tuple[float, float]:
            level = int((wealth[0] + wealth[1]) / 2 + steps[rng.randInt(len(steps))])
            return level, float(np.searchsorted(p.rank_starts, level, side="right"))

        def set_state(state: list[float]) -> float:
            origin = source.draw()
            return float(anywhere.draw()) if origin == 2 else state[origin]

        return [
            sim.MendelianGenoTransmitter(),
            ids,
            sim.PedigreeTagger(),
            sim.InheritTagger(mode=sim.PATERNAL, infoFields="surname"),
            sim.PyTagger(set_birth_year),
            sim.PyTagger(set_wealth),
            sim.PyTagger(set_state),
        ]

    def _can_marry(self, pop: Any) -> bool:
        """Return whether couples are possible in every subpopulation.

        A couple is possible if a wealth rank has both a man and a woman. False stops the evolution, and the error to
        raise is kept; otherwise the search for couples would never end.
        """
        for subpopulation in range(pop.numSubPop()):
            people = list(pop.individuals(subpopulation))
            men, women = ({p.rank for p in people if p.sex() == sex} for sex in (self.sim.MALE, self.sim.FEMALE))
            if not men & women:
                self.failure = no_couple(subpopulation, pop.dvars().gen)
                return False
        return True

    def _couples(self, pop: Any, subPop: int) -> Iterator[tuple[Any, Any]]:  # noqa: N803 (simuPOP's name)
        """Yield the couples of a subpopulation as pairs (man, woman), without end.

        simuPOP takes as many as it needs. `pop` is simuPOP's population and `subPop` the number of the subpopulation.
        """
        p, rng = self.p, self.sim.getRNG()
        pools: list[tuple[list[Any], list[Any]]] = [([], []) for _ in range(len(p.rank_starts) + 1)]
        ranks = [int(rank) for rank in pop.indInfo("rank", subPop)]
        for person, rank in zip(pop.individuals(subPop), ranks, strict=True):
            men, women = pools[rank]
            one = (int(person.birth_year), int(person.wealth), person)
            (men if person.sex() == self.sim.MALE else women).append(one)
        while True:
            men, women = pools[ranks[rng.randInt(len(ranks))]]
            if not men or not women:
                continue
            while True:
                man_at, woman_at = rng.randInt(len(men)), rng.randInt(len(women))
                (his_year, his_wealth, man), (her_year, her_wealth, woman) = men[man_at], women[woman_at]
                of_age = her_year - p.years_older <= his_year <= her_year + p.years_younger
                if (of_age and his_wealth >= her_wealth) or rng.randUniform() < p.accepted_anyway:
                    break
            yield man, woman
            for pool, at in ((men, man_at), (women, woman_at)):
                if len(pool) > 1 and rng.randUniform() < p.leaves_pool:
                    del pool[at]

    def _alleles(self, pop: Any) -> NDArray[np.uint8]:
        """Return the haplotypes in the order of the individuals, shape (n_people, n_loci).

        Items are numbers of repeats; 0 for women. `pop` is simuPOP's population.
        """
        both = np.array(pop.genotype(), dtype=np.uint8).reshape(-1, pop.ploidy(), len(self.p.loci))
        men = np.array([person.sex() == self.sim.MALE for person in pop.individuals()])
        # The Y chromosome is the second chromosome of a man's pair.
        return np.where(men[:, None], both[:, 1] + self.p.lowest, NO_ALLELE).astype(np.uint8)

    def _record(self, pop: Any) -> bool:
        """Store the present generation in the columns, as at birth, and return True.

        True lets simuPOP continue. In simuPOP, individuals are numbered from 1 by order of birth, and 0 means no
        parent.
        """
        columns, p = self.columns, self.p
        first = int(pop.indInfo("ind_id")[0]) - 1
        rows = slice(first, first + p.people)
        for name in _RECORDED:
            getattr(columns, name)[rows] = np.array(pop.indInfo(name))
        columns.father[rows] = np.array(pop.indInfo("father_id")) - 1
        columns.mother[rows] = np.array(pop.indInfo("mother_id")) - 1
        columns.haplotypes[rows] = self._alleles(pop)
        columns.sex[rows] = np.where(columns.haplotypes[rows, 0] == NO_ALLELE, WOMAN, MAN)
        if self.progress is not None:
            self.progress(TASK, first // p.people + 1, p.generations)
        return True

    def _record_mutations(self, pop: Any) -> bool:
        """Store the differences between germ lines and haplotypes at birth.

        This is done before people migrate. Returns True, which lets simuPOP continue.
        """
        first = int(pop.indInfo("ind_id")[0]) - 1
        born = self.columns.haplotypes[first : first + self.p.people]
        passed_on = self._alleles(pop)
        individual, locus = np.nonzero(passed_on != born)
        before, after = born[individual, locus], passed_on[individual, locus]
        self.mutations.append(Mutations((first + individual).astype(np.int32), locus.astype(np.int16), before, after))
        return True
