"""Cross-play of a scenario: every defender that its game knows against every adversary that can play in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.deprecation import formerly
from reidsim.engine.results import Clock, Result, make_manifest, measures_told
from reidsim.errors import InputError
from reidsim.games.cross_play import REGRET, CrossPlay
from reidsim.games.cross_play import cross_play as play_all
from reidsim.linkage.number_checks import check_share
from reidsim.measures import Measure, measures_among
from reidsim.progress import watched
from reidsim.scenarios.agents import are_equipped, left_out_of_rounds
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.load import LoadedScenario, load_scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress
from reidsim.wording import counted


@dataclass(frozen=True, eq=False)
class CrossPlayResult(Result):
    """What came of every defender against every adversary of a scenario.

    Parameters
    ----------
    name : str
        Scenario.
    play : CrossPlay
    manifest : dict
        What made the result.
    warnings : tuple of str
        Adversaries and defenders that cannot play, with the reason.
    """

    name: str
    play: CrossPlay
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def table(self) -> pd.DataFrame:
        """One row per defender and adversary; see `CrossPlay`."""
        return self.play.table

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures of the table, by column, in the words of the scenario's kind."""
        return measures_among((*measures_told(self.manifest), REGRET), self.table.columns)

    def matrix(self, measure: str) -> pd.DataFrame:
        """Return one measure, defenders as rows and adversaries as columns; see `CrossPlay`."""
        return self.play.matrix(measure)

    def __repr__(self) -> str:
        return (
            f"CrossPlayResult({self.name!r}: {counted(self.table['defender'].nunique(), 'defender')}, "
            f"{counted(self.table['adversary'].nunique(), 'adversary', 'adversaries')})"
        )

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the one table."""
        return {"cross_play": self.table}


@formerly(overrides="set")
@watched
def cross_play(
    scenario: str | Path,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    knowledge: str | None = None,
    stages: str | Path | None = None,
    attack_rate: float = 0.5,
    progress: Progress | None = None,
) -> CrossPlayResult:
    """Play every defender against every adversary of a scenario.

    Parameters
    ----------
    scenario : str or Path
        Name of a bundled scenario of a record-level, masking or dataset-level game, or a TOML file.
    overrides : mapping of str to object, optional
        Values by key path that replace the scenario's.
    seed : int, optional
        Root of all random draws; the scenario's, if not given.
    allow_code : bool
        Whether modules that the scenario names as adversary or policy may run.
    knowledge : str, optional
        Knowledge recipe of the adversary with partial knowledge; that of the scenario, if not given.
    stages : str or Path, optional
        Attack recipe of the adversary who attacks in stages; that of the scenario, if not given. A masking scenario
        has its own stages.
    attack_rate : float
        Probability with which the random adversary attacks a record.
    progress : callable, optional
        Called with what is being done, how much is done and how much there is.

    Returns
    -------
    CrossPlayResult

    Raises
    ------
    InputError
        If the scenario or a file it names cannot be used, or is of another game.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.cross_play("wan2015").matrix("regret")  # doctest: +SKIP
    """
    loaded = load_scenario(scenario, overrides, seed=seed, allow_code=allow_code)
    return cross_play_loaded(loaded, knowledge=knowledge, stages=stages, attack_rate=attack_rate, progress=progress)


def cross_play_loaded(
    loaded: LoadedScenario[ScenarioHead],
    *,
    knowledge: str | None = None,
    stages: str | Path | None = None,
    attack_rate: float = 0.5,
    progress: Progress | None = None,
) -> CrossPlayResult:
    """Play every defender against every adversary of a scenario that has been read; see `cross_play`."""
    check_share("attack_rate", attack_rate)
    if knowledge is not None and Path(knowledge).suffix == ".toml":
        # A file given with a call is one of the working folder, not of the scenario's.
        knowledge = str(Path(knowledge).absolute())
    clock, report = Clock(), progress or (lambda task, done, total: None)
    report("reading", 0, 1)
    loaded.makers()
    kind = kind_of(loaded.scenario)
    try:
        kind.policies_of(loaded.scenario)
        study = kind.build(loaded)
        path = None if stages is None else str(stages)
        study, others = kind.opponents(study, knowledge=knowledge, stages=path, rate=attack_rate)
        opponents = kind.opponent_types(study).beside(others)
        defenders = [kind.policy(name).defender(study, 0) for name in kind.cross_play_policies(study)]
        clock.lap("build")
        play = play_all(
            opponents.opponents,
            defenders,
            own=opponents.own,
            ideas=opponents.ideas,
            weights=study.world(0).weights,
            progress=lambda done, total: report("playing", done, total),
        )
    except InputError as error:
        raise error.located(loaded.path) from None
    clock.lap("play")
    options = {"knowledge": knowledge, "stages": None if stages is None else str(stages), "attack_rate": attack_rate}
    facts = {"cross_play": options, "own_adversary": opponents.own, **kind.facts(study)}
    manifest = make_manifest(loaded, clock.laps, facts)
    warnings = (*_not_played(loaded.scenario), *opponents.left_out, *play.left_out)
    return CrossPlayResult(loaded.name, play, manifest, warnings)


def _not_played(scenario: ScenarioHead) -> Iterator[str]:
    """Yield what a scenario says that a single game of its own adversary leaves out."""
    agents = getattr(scenario, "agents", None)
    if agents is not None and not agents.types and not are_equipped(scenario):
        yield from left_out_of_rounds(scenario)
    if scenario.sweep is not None or scenario.uncertainty is not None or scenario.replications > 1:
        yield "sweep, uncertainty and replications are left out: the scenario's own values, drawn once"
