"""One named random stream per decision, all grown from one root seed."""

from __future__ import annotations

import numpy as np

# The order fixes each stream's seed: new names go to the end, so that earlier results stay the same.
_STREAMS = ("release", "file-attack")


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
