"""Work in several threads gives what it gives in one, to the byte, and workers of a batch stay in theirs."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_games import game_of

from reidsim import threads
from reidsim.adversaries.multistage.two_stage import forget_inferences
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import arrays_of
from reidsim.games.backward_induction import backward_induction
from reidsim.games.contenders import Contenders
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.masking import game as masking_game
from reidsim.games.masking.backward_induction import masking_backward_induction
from reidsim.games.masking.best_first import best_first
from reidsim.games.masking.greedy import greedy
from reidsim.games.people import PeopleLattice, PeopleLinker
from reidsim.games.record_game import WITHHELD, Constraint, PopulationLinker, RecordGame
from reidsim.kinds.tables.build import build_study
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.people import PeopleOfRows, RowSets
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.study import record_table
from reidsim.threads import available_threads, done_in_threads, in_one_thread

SMALL = {
    "population.recipe": "ystr-genealogy-small", "targets.size": 60, "resources.registry.size": 1000,
    "resources.genealogy.size": 1000, "replications": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "solver", [best_first, greedy, pytest.param(masking_backward_induction, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize("kept", ["all", "one"])
def test_masking_solvers_in_threads_give_the_same_bytes(monkeypatch, solver, kept):
    loaded = load_scenario("wan2021", SMALL)
    study = kind_of(loaded.scenario).build(loaded)
    if kept == "one":
        # Where not everybody's surnames can be kept, each thread has those of its own subject.
        monkeypatch.setattr("reidsim.adversaries.multistage.two_stage.places_kept", lambda targets, loci: (1, 1 << 14))
    monkeypatch.setattr(masking_game, "_CHUNK", 4)
    found = []
    for number in (1, 4):
        forget_inferences()
        study._drawn.clear()
        monkeypatch.setattr(masking_game, "available_threads", lambda number=number: number)
        game, _ = study.games(0)
        choice = solver(game, no_attack=True)
        paid = game.evaluate(choice)
        arrays = (choice.strategies, choice.evaluated, paid.publisher_payoff, paid.adversary_payoff, paid.attacked)
        found.append([array.tobytes() for array in arrays])
    assert found[0] == found[1]


@pytest.mark.parametrize("world", ["records", "people of several", "expected counts"])
@pytest.mark.parametrize("kept", [300, 0.5], ids=["all tables kept", "few tables kept"])
def test_records_in_threads_give_the_same_bytes(monkeypatch, kept, world):
    study = build_study(load_scenario("wan2015"))
    cells, population, row_sets = study.lattice_of(study.lattice.codes[:600]), study.linked_population, None
    lattice = cells
    if world == "expected counts":
        # The sums of which depend on the order in which they are added up.
        population = replace(population, counts=population.counts / 7)
    if world == "people of several":
        rng = np.random.default_rng(3)
        row_sets, _ = RowSets.of(
            rng.integers(0, 600, 1500), np.sort(np.append(np.arange(700), rng.integers(0, 700, 800)))
        )
        population = PeopleOfRows.of(cells.domain, cells.codes, row_sets)
        lattice = PeopleLattice(cells.hierarchies, cells.codes, cells.loss_attributes, row_sets=row_sets)
    memory = int(kept * GroupSizes(population, cells)._base.nbytes)
    # However many strategies may win.
    monkeypatch.setattr("reidsim.games.contenders._MOST_KEPT", lattice.size)
    n = lattice.n_records
    assert n == (667 if world == "people of several" else 600)
    monkeypatch.setattr("reidsim.games.record_game.WORTH_THREADS", 1)
    # Amounts that differ, so that each thread must take those of its own records.
    benefit, loss, gain = np.random.default_rng(1).uniform(1, 1500, (3, n))
    minimum = np.where(np.arange(n) % 3, 0, lattice.size - 1)
    constraints = {"basic": Constraint(), "both": Constraint(no_attack=True, minimum=minimum)}
    found, busy, made = [], set(), []
    roll_up = GroupSizes._roll_up

    def rolled_up(sizes, *nodes):
        made[-1] += 1
        return roll_up(sizes, *nodes)

    monkeypatch.setattr(GroupSizes, "_roll_up", rolled_up)

    def done_noted(work, parts, number):
        def noted(part):
            busy.add((number, threading.get_ident()))
            return work(part)

        return done_in_threads(noted, parts, number)

    for module in ("backward_induction", "contenders", "equilibrium"):
        monkeypatch.setattr(f"reidsim.games.{module}.done_in_threads", done_noted)
    for number in (1, 3):
        monkeypatch.setattr("reidsim.games.record_game.available_threads", lambda number=number: number)
        made.append(0)
        linker = PopulationLinker(GroupSizes(population, cells, memory_limit=memory))
        game = RecordGame(
            lattice,
            linker if row_sets is None else PeopleLinker(linker, row_sets),
            OneShotAdversary(gain, 4.0),
            benefit,
            loss,
        )
        choices = backward_induction(game, constraints)
        lowest = Constraint(minimum=minimum)
        contenders = Contenders.of(game, lowest)
        choices |= backward_induction(game, {"lowest": lowest}, contenders=contenders)
        arrays = {name: each.strategies for name, each in choices.items()}
        assert len(contenders.pairs) == (number if kept == 300 else 1)
        parts = [(each.strategies, each.rows, each.most, each.linked[0].group_sizes) for each in contenders.pairs]
        of_pairs = [np.concatenate(values) for values in zip(*parts, strict=True)]
        order = np.lexsort((of_pairs[1], of_pairs[0]))
        arrays |= {f"contenders {number}": values[order] for number, values in enumerate(of_pairs)}
        paid = evaluate(
            game,
            replace(choices["basic"], strategies=np.where(np.arange(n) % 5, choices["basic"].strategies, WITHHELD)),
        )
        arrays |= arrays_of(paid) | {f"attempted {name}": each for name, each in arrays_of(paid.attempts).items()}
        found.append(arrays)
    assert found[0].keys() == found[1].keys()
    assert all(found[0][name].tobytes() == found[1][name].tobytes() for name in found[0])
    assert (found[0]["both"] >= minimum).sum() > n / 3
    if kept == 300:
        assert made[0] == made[1]
    else:
        # Evaluated in any order, some are made again, and others not.
        assert abs(made[0] - made[1]) < 0.05 * made[0]
    assert (paid.attempts.risk[:, paid.attacked] > 0).any()
    assert n < len(order) < n * lattice.size
    assert {thread for number, thread in busy if number == 3}.isdisjoint({threading.get_ident()})
    rows = np.array([7, 3, 150])
    for records, part in game.parts()[1:]:
        whole, alone = game.outcome(5, rows + records.start), part.outcome(5, rows)
        assert (alone.publisher_payoff == whole.publisher_payoff).all()
        assert (alone.response.success == whole.response.success).all()


def test_there_are_no_more_parts_than_records(monkeypatch):
    monkeypatch.setattr("reidsim.games.record_game.WORTH_THREADS", 1)
    levels = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
    small = game_of(
        [levels] * 2, [(0, 0), (3, 3)] * 40, [(0, 0), (3, 3), (1, 2)], benefit=9.0, loss=5.0, gain=5.0, cost=1
    )
    game, found = small.game(), []
    for number in (1, 8):
        monkeypatch.setattr("reidsim.games.record_game.available_threads", lambda number=number: number)
        assert len(game.parts()) == min(number, 3)
        both = {"basic": Constraint(), "no-attack": Constraint(no_attack=True)}
        choices = backward_induction(game, both) | backward_induction(
            game, {"may win": Constraint()}, contenders=Contenders.of(game, Constraint())
        )
        found.append({name: each.strategies.tolist() for name, each in choices.items()})
    assert found[0] == found[1]
    assert found[0]["basic"] == found[0]["may win"]


def test_records_of_several_policies_stand_in_their_order(monkeypatch):
    rng, found = np.random.default_rng(2), {}
    for name in ("no-attack", "basic", "k-anonymity"):
        strategies, amounts = rng.integers(-1, 3, 5), rng.random((5, 5))
        attacked, evaluated = amounts[0] > 0.5, np.ones(5, dtype=np.int64)
        found[name] = Equilibrium(
            strategies, amounts[0], amounts[1], attacked, *amounts[2:], "fixed", evaluated, exact=False
        )
    expand, tables, slow = Equilibrium.expand, [], threading.Event()

    def last(equilibrium, rows):
        # The first policy ends last.
        if number > 1 and equilibrium is found["no-attack"]:
            slow.wait(20)
        elif number > 1 and equilibrium is found["k-anonymity"]:
            slow.set()
        return expand(equilibrium, rows)

    monkeypatch.setattr(Equilibrium, "expand", last)
    for number in (1, 3):
        monkeypatch.setattr("reidsim.scenarios.study.available_threads", lambda number=number: number)
        tables.append(record_table(found, np.array([4, 0, 0, 3, 2, 1]), str))
    pd.testing.assert_frame_equal(*tables)
    assert tables[1]["policy"].unique().tolist() == list(found)
    assert slow.is_set()


def test_parts_are_done_once_each_and_in_as_many_threads():
    met = threading.Barrier(3, timeout=20)

    def work(part):
        met.wait()
        return part * part

    assert sorted(done_in_threads(work, range(6), 3)) == [0, 1, 4, 9, 16, 25]


def test_an_error_ends_the_work_and_what_has_not_begun_is_left_out():
    begun = []

    def work(part):
        begun.append(part)
        time.sleep(0.01)
        raise ValueError(part)

    with pytest.raises(ValueError, match=r"^\d+$"):
        list(done_in_threads(work, range(200), 2))
    assert len(begun) < 200


def test_one_thread_is_of_those_within_it_alone(monkeypatch):
    monkeypatch.setattr(threads.numba.config, "NUMBA_NUM_THREADS", 6)
    elsewhere = []
    with in_one_thread():
        assert available_threads() == 1
        other = threading.Thread(target=lambda: elsewhere.append(available_threads()))
        other.start()
        other.join()
    assert elsewhere == [6]
    assert available_threads() == 6


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a program cannot be told its cores here")
def test_cores_that_the_program_may_use_are_counted():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
        "from reidsim.threads import available_threads; print(available_threads())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_NUM_THREADS"}
    assert subprocess.check_output([sys.executable, "-c", code], text=True, env=environment).strip() == "1"
