"""One random stream for every decision of every agent in every round."""

from __future__ import annotations

import numpy as np

from reidsim.random_streams import nested_stream, word_of


def agent_stream(
    seed: int, decision: str, agent: str = "", *, replication: int = 0, round_number: int = 0
) -> np.random.Generator:
    """Return the generator of a decision of an agent in a round.

    It depends on these names and numbers alone: not on the publisher's policy, the order of agents, or what others
    drew. So two policies played under one seed meet the same adversaries, and the same exploits succeed.

    Parameters
    ----------
    seed : int
        Root seed of the run.
    decision : str
        Such as ``"exploits"``: whether each exploit hits.
    agent : str
        Whose decision it is, such as an adversary's name; empty for the environment.
    replication, round_number : int
        Rounds are numbered from 1; 0 is before the first.
    """
    return nested_stream(seed, "agents", (word_of(decision), word_of(agent), replication, round_number))
