"""Results are byte-identical for any number of threads.

Batch workers limit theirs.
"""

import threading
import time

import pytest

from reidsim.adversaries.multistage import attack as multistage
from reidsim.core import numerics
from reidsim.core.numerics import available_threads, done_in_threads, in_one_thread
from reidsim.games.masking import game as masking_game
from reidsim.games.masking.searches import best_first, greedy, masking_backward_induction
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.scenario import Scenario

SMALL = {
    "population.recipe": "ystr-genealogy-small", "targets.size": 20, "resources.registry.size": 300,
    "resources.genealogy.size": 300, "replications": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "solver", [best_first, greedy, pytest.param(masking_backward_induction, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize("kept", ["all", "one"])
def test_masking_solvers_in_threads_give_the_same_bytes(monkeypatch, solver, kept):
    loaded = Scenario.load("wan2021", SMALL)
    study = kind_of(loaded.scenario).build(loaded)
    if kept == "one":
        # If not all surnames fit into memory, each thread keeps the surnames of its own subject.
        monkeypatch.setattr("reidsim.adversaries.multistage.attack.places_kept", lambda targets, loci: (1, 1 << 14))
    monkeypatch.setattr(masking_game, "_CHUNK", 4)
    found = []
    for number in (1, 4):
        multistage._kept.clear()
        study._drawn.clear()
        monkeypatch.setattr(masking_game, "available_threads", lambda number=number: number)
        game, _ = study.games(0)
        choice = solver(game, no_attack=True)
        paid = game.evaluate(choice)
        arrays = (choice.strategies, choice.evaluated, paid.publisher_payoff, paid.adversary_payoff, paid.attacked)
        found.append([array.tobytes() for array in arrays])
    assert found[0] == found[1]


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
    monkeypatch.setattr(numerics.numba.config, "NUMBA_NUM_THREADS", 6)
    elsewhere = []
    with in_one_thread():
        assert available_threads() == 1
        other = threading.Thread(target=lambda: elsewhere.append(available_threads()))
        other.start()
        other.join()
    assert elsewhere == [6]
    assert available_threads() == 6
