"""What publishers choose who know the types of adversaries, take them for their average, or fear the worst of them."""

import numpy as np

from reidsim.games.defenders.best_reply import BestReply
from reidsim.games.equilibrium import evaluate
from reidsim.games.type_replies import averaged


class Reply:
    """A choice, and what comes of it in the truth: expected over all types, and against the worst for each record."""

    def __init__(self, choice, truth):
        self.choice = choice
        self.expected = evaluate(truth, choice)
        present = [each.name for each in truth.types if each.weight > 0]
        against_each = [evaluate(truth.against(name), choice).publisher_payoff for name in present]
        self.worst_payoff = np.min(against_each, axis=0)


def replies_to_types(believed, truth=None, *, defender=None):
    """Return the best replies to the types with their weights, to their average, and to the worst for each record."""
    games = {
        "types": believed,
        "average": believed.with_types(averaged(believed.types)),
        "worst": believed.with_types(believed.types, "worst"),
    }
    return {name: Reply((defender or BestReply()).choose(game), truth or believed) for name, game in games.items()}
