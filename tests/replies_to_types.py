"""Best replies of publishers to adversary types, their average and the worst."""

import numpy as np

from reidsim.games.composite import TypesGame, averaged
from reidsim.games.cross_play import BestReply
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import RecordGame


def against(game, name):
    """Return the game against one type alone, as if it were certain to be present."""
    (one,) = (each for each in game.types if each.name == name)
    return RecordGame(game.space, one.linker, one.adversary, game.benefit, game.loss)


class Reply:
    """A choice and its true results: expected over types, and in the worst case."""

    def __init__(self, choice, truth):
        self.choice = choice
        self.expected = evaluate(truth, choice)
        present = [each.name for each in truth.types if each.weight > 0]
        against_each = [evaluate(against(truth, name), choice).publisher_payoff for name in present]
        self.worst_payoff = np.min(against_each, axis=0)


def replies_to_types(believed, truth=None, *, defender=None):
    """Return best replies to the types, their average and the worst per record."""
    games = {
        "types": believed,
        "average": believed.with_types(averaged(believed.types)),
        "worst": TypesGame(believed.space, believed.types, believed.benefit, believed.loss, "worst"),
    }
    return {name: Reply((defender or BestReply()).choose(game), truth or believed) for name, game in games.items()}
