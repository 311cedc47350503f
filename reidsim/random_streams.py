"""Provide one named random stream per decision, all derived from one root seed."""

from __future__ import annotations

import hashlib

import numpy as np

# Number of bytes of a name's hash that fit into one word of a seed.
_WORD = 4
# The order determines each stream's seed: append new names at the end, so that earlier results do not change.
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
    """Return the random generator of a named decision.

    It is independent of the generators of all other decisions under the same root seed.

    Parameters
    ----------
    seed : int
        Root seed of the run.
    name : str
        Name of the decision, such as ``"release"``: completion of the records.
    """
    children = np.random.SeedSequence(seed).spawn(len(_STREAMS))
    return np.random.default_rng(children[_STREAMS.index(name)])


def replication_stream(seed: int, name: str, replication: int) -> np.random.Generator:
    """Return the random generator of a named decision in a replication.

    It is independent of all other generators.

    Parameters
    ----------
    seed : int
        Root seed of the run.
    name : str
        Name of the decision, such as ``"tables"``: the people in each table.
    replication : int
        Number of the replication, from 0; its draws do not depend on the number of replications.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAMS.index(name), replication)))


def word_of(name: str) -> int:
    """Return a number for a name as part of a stream's key; equal in every process."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:_WORD], "big")


def replication_seed(seed: int, replication: int) -> int:
    """Return the root seed of a replication; replication 0 has the batch's seed.

    Parameters
    ----------
    seed : int
        Root seed of the batch.
    replication : int
        Number of the replication, from 0; its seed does not depend on the number of replications.
    """
    if replication == 0:
        return seed
    sequence = np.random.SeedSequence(seed, spawn_key=(_STREAMS.index("replications"), replication))
    # Tables store the seed as a signed 64-bit integer.
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def nested_stream(seed: int, name: str, place: tuple[int, ...]) -> np.random.Generator:
    """Return the random generator of a decision at a place.

    It is independent of the generators at other places.

    Parameters
    ----------
    seed : int
        Root seed of the run.
    name : str
        Name of the decision, such as ``"agents"``: decisions of agents.
    place : tuple of int
        Two or more non-negative numbers, such as agent and round.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAMS.index(name), *place)))
