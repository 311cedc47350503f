"""One named random stream per decision, all grown from one root seed."""

from __future__ import annotations

import hashlib

import numpy as np

# Longest first part of a name's hash that a seed takes as one word.
_WORD = 4
# The order fixes each stream's seed: new names go to the end, so that earlier results stay the same.
_STREAMS = (
    "release",
    "file-attack",
    "tables",
    "policies",
    "replications",
    "uncertainty",
    "agents",
    "cross-play",
    "stress",
    "attributes",
    "lists",
    "reidentified",
    "epidemic",
    "simulated-tables",
    "participation",
)


def random_stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator of a named decision, independent of all others under the same root seed.

    Parameters
    ----------
    seed : int
        Root seed of the run.
    name : str
        Such as ``"release"``: completing the records.
    """
    children = np.random.SeedSequence(seed).spawn(len(_STREAMS))
    return np.random.default_rng(children[_STREAMS.index(name)])


def replication_stream(seed: int, name: str, replication: int) -> np.random.Generator:
    """Return the generator of a named decision in a replication, independent of all other generators.

    Parameters
    ----------
    seed : int
        Root seed of the run.
    name : str
        Such as ``"tables"``: who is in which table.
    replication : int
        From 0; a replication's draws do not depend on how many there are.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAMS.index(name), replication)))


def word_of(name: str) -> int:
    """Return a number for a name that is the same in every process, to be a part of a stream's key."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:_WORD], "big")


def replication_seed(seed: int, replication: int) -> int:
    """Return the root seed of a replication; the first keeps the seed of the run.

    Parameters
    ----------
    seed : int
        Root seed of the batch.
    replication : int
        From 0; its seed does not depend on how many there are.
    """
    if replication == 0:
        return seed
    sequence = np.random.SeedSequence(seed, spawn_key=(_STREAMS.index("replications"), replication))
    # Tables hold it as a whole number of 64 bits with a sign.
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def nested_stream(seed: int, name: str, place: tuple[int, ...]) -> np.random.Generator:
    """Return the generator of a decision at a place, independent of the generators at other places.

    Parameters
    ----------
    seed : int
        Root seed of the run.
    name : str
        Such as ``"agents"``: decisions of agents.
    place : tuple of int
        Two numbers or more of 0 and up, such as agent and round.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAMS.index(name), *place)))
