"""Cross-play of a scenario: every defender that its game knows against every adversary that can play in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.experiments.full_domain_policies import fixed_strategies
from reidsim.experiments.results import Clock, make_manifest, write_json, write_parquet, write_results
from reidsim.experiments.run_result import Progress
from reidsim.games.cross_play import CrossPlay
from reidsim.games.cross_play import cross_play as play_all
from reidsim.games.defenders.best_reply import BestReply
from reidsim.games.defenders.defender import Defender
from reidsim.games.defenders.fixed import FixedForms, OptIn
from reidsim.games.defenders.same_form import SameForm
from reidsim.games.masking.fixed_policies import PublishedPolicy, fixed_choice
from reidsim.linkage.number_checks import check_share
from reidsim.random_streams import random_stream, replication_stream
from reidsim.releases.cell_suppression import k_anonymous_cells
from reidsim.scenarios.build import RecordStudy, build_study, is_record_level
from reidsim.scenarios.full_domain import FullDomainStudy, build_full_domain, is_full_domain
from reidsim.scenarios.load import LoadedScenario, load_scenario
from reidsim.scenarios.masking import MaskingStudy, build_masking_study, is_masking
from reidsim.scenarios.opponents import Opponents, opponents_of_dataset, opponents_of_records, opponents_of_subjects
from reidsim.scenarios.schema import ScenarioHead

# Draws the figures of a result into a folder; returns the files' names.
CrossPlayIllustrator = Callable[["CrossPlayResult", Path], list[str]]


@dataclass(frozen=True, eq=False)
class CrossPlayResult:
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
    defender : str
        Who decides what is shared.
    """

    name: str
    play: CrossPlay
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    defender: str

    @property
    def table(self) -> pd.DataFrame:
        """One row per defender and adversary; see `CrossPlay`."""
        return self.play.table

    def matrix(self, measure: str) -> pd.DataFrame:
        """Return one measure, defenders as rows and adversaries as columns; see `CrossPlay`."""
        return self.play.matrix(measure)

    def save(self, folder: str | Path, *, illustrate: CrossPlayIllustrator | None = None) -> Path:
        """Write the results folder: manifest, table, and figures if `illustrate` is given.

        Raises
        ------
        InputError
            If the folder holds something or cannot be written; then nothing is left behind.
        """
        folder = Path(folder)

        def write(into: Path) -> None:
            write_parquet(into / "cross_play.parquet", self.table)
            figures = [] if illustrate is None else illustrate(self, into / "figures")
            write_json(into / "manifest.json", {**self.manifest, "figures": figures, "warnings": list(self.warnings)})

        write_results(folder, write)
        return folder


def cross_play(
    scenario: str | Path,
    *,
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    knowledge: str | None = None,
    attack_rate: float = 0.5,
    progress: Progress | None = None,
) -> CrossPlayResult:
    """Play every defender against every adversary of a scenario.

    Parameters
    ----------
    scenario : str or Path
        Name of a bundled scenario of a record-level, masking or dataset-level game, or a TOML file.
    set : mapping of str to object, optional
        Values by key path that replace the scenario's.
    seed : int, optional
        Root of all random draws; the scenario's, if not given.
    knowledge : str, optional
        Knowledge recipe of the adversary with partial knowledge; that of the scenario, if not given.
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
    loaded = load_scenario(scenario, set, seed=seed)
    return cross_play_loaded(loaded, knowledge=knowledge, attack_rate=attack_rate, progress=progress)


def cross_play_loaded(
    loaded: LoadedScenario[ScenarioHead],
    *,
    knowledge: str | None = None,
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
    try:
        opponents, defenders, weights, facts = _players(loaded, knowledge, attack_rate)
        clock.lap("build")
        play = play_all(
            opponents.opponents,
            defenders,
            own=opponents.own,
            weights=weights,
            progress=lambda done, total: report("playing", done, total),
        )
    except InputError as error:
        raise error.located(loaded.path) from None
    clock.lap("play")
    options = {"knowledge": knowledge, "attack_rate": attack_rate}
    facts = {"cross_play": options, "own_adversary": opponents.own, **facts}
    manifest = make_manifest(loaded.name, loaded.content, loaded.scenario.seed, clock.laps, facts)
    defender = "subject" if is_masking(loaded) else "publisher"
    warnings = (*_not_played(loaded.scenario), *opponents.left_out, *play.left_out)
    return CrossPlayResult(loaded.name, play, manifest, warnings, defender)


def _not_played(scenario: ScenarioHead) -> Iterator[str]:
    """Yield what a scenario says that a single game of its own adversary leaves out."""
    if getattr(scenario, "agents", None) is not None:
        yield "section agents is left out: one round, against the adversary of section adversary"
    if scenario.sweep is not None or scenario.uncertainty is not None or scenario.replications > 1:
        yield "sweep, uncertainty and replications are left out: the scenario's own values, drawn once"


_Players = tuple[Opponents, list[Defender], NDArray[np.int64] | None, dict[str, Any]]


def _players(loaded: LoadedScenario[ScenarioHead], knowledge: str | None, rate: float) -> _Players:
    """Return who plays in a scenario, the records that each row stands for, and facts for the manifest."""
    if is_record_level(loaded):
        study = build_study(loaded)
        facts = {"records": study.n_records, "strategies": study.lattice.size, "data_hash": study.fingerprint}
        opponents = opponents_of_records(study, knowledge=knowledge, rate=rate)
        return opponents, record_defenders(study), study.multiplicity, facts
    if is_full_domain(loaded):
        dataset = build_full_domain(loaded)
        facts = {"records": dataset.n_records, "strategies": dataset.lattice.size, "data_hash": dataset.fingerprint}
        opponents = opponents_of_dataset(dataset, knowledge=knowledge, rate=rate)
        return opponents, dataset_defenders(dataset), dataset.released, facts
    if is_masking(loaded):
        subjects = build_masking_study(loaded)
        opponents = opponents_of_subjects(subjects, knowledge=knowledge, rate=rate)
        game = opponents.opponents[0].truth
        facts = {"records": game.n_records, "strategies": game.space.size, "data_hash": subjects.fingerprint}
        return opponents, subject_defenders(subjects), None, facts
    expected = "a record-level, masking or full-domain game"
    raise InputError("nobody decides what is shared", source=loaded.path, where="game", expected=expected)


def record_defenders(study: RecordStudy) -> list[Defender]:
    """Return the defenders of a record-level scenario, by the names of its policies where it has them."""
    lattice, minimum = study.lattice, study.safe_harbor
    defenders: list[Defender] = [BestReply(), BestReply("no-attack", no_attack=True)]
    if minimum is not None:
        defenders.append(BestReply("sh-friendly", minimum=minimum))
    defenders += [
        BestReply("lattice-search", search="greedy"),
        SameForm("full-domain", weights=study.multiplicity),
        OptIn(),
    ]
    if minimum is not None:
        defenders.append(FixedForms("safe-harbor", minimum))
    fixed = {"no-protection": lattice.most_specific, "suppress-all": lattice.size - 1}
    return [*defenders, *(FixedForms(name, form) for name, form in fixed.items()), _at_random(study, lattice.size)]


def dataset_defenders(study: FullDomainStudy) -> list[Defender]:
    """Return the defenders of a scenario at dataset level, by the names of its policies where it has them."""
    lattice, released, limit = study.lattice, study.released, study.scenario.publisher.suppression_limit
    lowest = lattice.index(study.minimum)
    everywhere = np.full(lattice.n_records, lowest, dtype=np.int64)

    def same_form(name: str, minimum: int, *, no_attack: bool = False) -> SameForm:
        return SameForm(name, released, suppresses=True, limit=limit, no_attack=no_attack, minimum=minimum)

    defenders: list[Defender] = [same_form("basic", lowest), same_form("no-attack", lowest, no_attack=True)]
    if study.safe_harbor is not None:
        defenders.append(same_form("sh-friendly", lattice.index(study.safe_harbor_minimum)))
    defenders += [
        BestReply("record-level", minimum=everywhere, may_withhold=True),
        BestReply("record-level-no-attack", no_attack=True, minimum=everywhere, may_withhold=True),
        OptIn(),
    ]
    rules = ("no-protection", "suppress-all") if study.safe_harbor is None else (
        "safe-harbor", "no-protection", "suppress-all"
    )  # fmt: skip
    defenders += [FixedForms(rule, fixed_strategies(rule, study)) for rule in rules]
    return [*defenders, _at_random(study, lattice.size)]


def subject_defenders(study: MaskingStudy) -> list[Defender]:
    """Return the defenders of a masking scenario, by the names of its policies where it has them."""
    game, _ = study.games(0)
    section, seed = study.scenario.subjects, study.scenario.seed
    defenders: list[Defender] = [
        BestReply("masking", may_withhold=True),
        BestReply("no-attack-masking", no_attack=True, may_withhold=True),
        BestReply("greedy-masking", may_withhold=True, search="greedy"),
        SameForm("same-strategy"),
        OptIn(),
    ]
    fixed: tuple[PublishedPolicy, ...] = ("no-protection", "demographics-only", "random-opt-in", "random-masking")
    rates = {"opt_in_rate": section.opt_in_rate, "sharing_rate": section.sharing_rate}
    for policy in fixed:
        chosen = fixed_choice(game, policy, replication_stream(seed, "policies", 0), **rates)
        defenders.append(FixedForms(policy, chosen.strategies))
    if game.n_records >= section.k and not section.always_shared:
        values = game.world.targets.matrix(section.attributes)
        cells = k_anonymous_cells(values, section.k, study.weights(game.world))
        defenders.append(FixedForms("k-anonymity", game.space.masking(cells)))
    return defenders


def _at_random(study: RecordStudy | FullDomainStudy, size: int) -> FixedForms:
    """Return the defender who shares every record in a form drawn at random."""
    forms = random_stream(study.scenario.seed, "cross-play").integers(size, size=study.lattice.n_records)
    return FixedForms("random", forms)
