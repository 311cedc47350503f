"""What a kind of scenario is to everything above it: its schema, its study and its policies.

Kinds register by name: those of the package here, those of installed packages by the entry points ``reidsim.kinds``.
Reading, checking and naming go by this interface; what plays a kind's scenarios is in `reidsim.experiments`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from reidsim.errors import InputError, listed, nearest
from reidsim.measures import Measure
from reidsim.scenarios.former_keys import FORMER_GAMES

if TYPE_CHECKING:
    from reidsim.games.defenders.defender import Defender, Game
    from reidsim.populations.population import Counts
    from reidsim.scenarios.schema import ScenarioHead

# Kinds of the package: where each is, as ``module:object``.
_OWN = {
    "tables": "reidsim.kinds.tables.kind:TABLES",
    "masking": "reidsim.kinds.masking.kind:MASKING",
    "risk": "reidsim.kinds.assessment.kind:ASSESSMENT",
}
DEFAULT_KIND = "tables"
_GROUP = "reidsim.kinds"


@dataclass(frozen=True)
class World:
    """One draw of a study, ready to be played.

    Parameters
    ----------
    truth : RecordGame or MaskingGame
        In which payoffs accrue.
    belief : RecordGame or MaskingGame
        In which whoever shares the records decides.
    weights : ndarray of int64, shape (n_rows,)
        Records that each row of the games stands for.
    """

    truth: Game
    belief: Game
    weights: Counts


@dataclass(frozen=True)
class Policy:
    """A way of deciding what is shared; all that any part of the package knows about it.

    Parameters
    ----------
    name : str
        As scenarios and tables write it.
    label : str
        As figures write it.
    words : str
        What it does, in one sentence.
    defender : callable
        Makes the `Defender` that follows it, of a study and the number of a draw.
    is_rule : bool
        Whether it shares the same whoever attacks; else it is a best reply.
    forbids_attacks : bool
        Whether it shares only what nobody attacks.
    needs_safe_harbor : bool
        Whether the scenario must say what Safe Harbor restricts.
    by_agents : bool
        Whether it can be played round after round.
    """

    name: str
    label: str
    words: str
    defender: Callable[[Any, int], Defender]
    is_rule: bool = False
    forbids_attacks: bool = False
    needs_safe_harbor: bool = False
    by_agents: bool = True


@dataclass(frozen=True)
class Kind:
    """A kind of scenario.

    Parameters
    ----------
    name : str
        The value of the key ``game``.
    words : str
        Who decides about what, in one sentence.
    schema : type of ScenarioHead
    policies : mapping of str to Policy
        By name; empty where nobody decides.
    decides : str
        Who shares the records: ``publisher`` or ``subject``.
    measures : tuple of Measure
        What its tables of runs may hold, in the order in which tables print them.
    """

    name: str
    words: str
    schema: type[ScenarioHead]
    policies: Mapping[str, Policy]
    decides: str
    measures: tuple[Measure, ...]


def kind_names() -> tuple[str, ...]:
    """Return the names of all kinds, those of the package first."""
    return (*_OWN, *sorted(entry.name for entry in entry_points(group=_GROUP) if entry.name not in _OWN))


def kind_named(name: object) -> Kind:
    """Return a kind by its name.

    Raises
    ------
    InputError
        If there is none; names the key ``game``.
    """
    if isinstance(name, str) and name in _OWN:
        module, _, attribute = _OWN[name].partition(":")
        kind: Kind = getattr(import_module(module), attribute)
        return kind
    for entry in entry_points(group=_GROUP):
        if entry.name == name:
            found: Kind = entry.load()
            return found
    names = kind_names()
    hint = nearest(name, names) if isinstance(name, str) else None
    raise InputError("value not allowed", where="game", found=name, expected=f"one of {listed(names)}", hint=hint)


def kind_of(content: Mapping[str, Any]) -> Kind:
    """Return the kind of a scenario as run, in results of former versions, too.

    Raises
    ------
    InputError
        If there is no such kind.
    """
    game = content.get("game", DEFAULT_KIND)
    return kind_named(DEFAULT_KIND if game in FORMER_GAMES else game)


def schemas() -> dict[str, type[ScenarioHead]]:
    """Return what scenario files of every kind may say, by the name of the kind."""
    return {name: kind_named(name).schema for name in kind_names()}
