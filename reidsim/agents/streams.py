"""A separate random stream for each decision of each agent in each round."""

from __future__ import annotations

import numpy as np

from reidsim.random_streams import nested_stream, word_of


def agent_stream(
    seed: int, decision: str, agent: str = "", *, replication: int = 0, round_number: int = 0
) -> np.random.Generator:
    """Return the random generator of an agent's decision in a round.

    The generator depends only on the arguments, not on the publisher's policy, the order of the agents or the draws of
    other agents. Two policies run with the same seed therefore meet the same adversaries and the same random numbers
    for exploits.

    Parameters
    ----------
    seed : int
        Root seed of the run.
    decision : str
        Name of the decision, such as ``"exploits"`` for the success of each exploit.
    agent : str
        Name of the deciding agent, such as an adversary; empty for the environment.
    replication : int
        Number of the replication.
    round_number : int
        Number of the round, from 1; 0 means before the first round.
    """
    return nested_stream(seed, "agents", (word_of(decision), word_of(agent), replication, round_number))
