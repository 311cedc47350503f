"""Compute the results of a masking game: tables, greedy search path and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from reidsim.adversaries.knowledge.sets import enumerate_sets
from reidsim.adversaries.multistage.world import MultistageWorld
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.measures import birth_decades, fairness, fairness_of_usefulness, state_groups, usefulness
from reidsim.games.masking.partial_knowledge import PartialKnowledgeGame
from reidsim.games.masking.searches import greedy_path
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.kinds.masking.measures import PRIVACY_FAIRNESS, USEFULNESS, USEFULNESS_FAIRNESS
from reidsim.kinds.masking.policy import policy_named
from reidsim.kinds.masking.study import MaskingStudy
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.study import AnalysisTables, PolicyOutcome, Progress, equilibria_of, record_table

# Attributes that define the groups in fairness measures (Wan et al. 2021, note S8).
_GROUPINGS: dict[str, Callable[[Any], Any]] = {"age": birth_decades, "state": state_groups}


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskingAnalysis(AnalysisTables):
    """Tables behind the figures of a masking game.

    Parameters
    ----------
    search_path : DataFrame
        Strategies of a greedy search for one record, in the first replication; see `search_path_table`.
    """

    search_path: pd.DataFrame = field(default_factory=pd.DataFrame)


class MaskingResults(Kind):
    """Methods of the masking kind for tables, facts and warnings; see `Kind`."""

    def summarise(self, study: MaskingStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return mean outcomes of each policy over subjects, with usefulness and fairness.

        Fairness compares groups by birth decade and by state; it is missing unless subjects can share both ``age`` and
        ``state``. See `reidsim.games.masking.measures`.
        """
        attributes, game = study.scenario.subjects.attributes, study.games(draw)[0]
        values, weights = game.world.targets.matrix(attributes), study.weights(game.world)
        groups = [
            (attributes.index(name), np.asarray(group(values[:, attributes.index(name)])))
            for name, group in _GROUPINGS.items()
            if name in attributes
        ]
        shared = [
            game.space.shared(np.maximum(each.strategies, 0)) & ~each.withheld[:, None] for each in equilibria.values()
        ]
        summary = super().summarise(study, draw, equilibria)
        summary[USEFULNESS.column] = [usefulness(values, each, weights) for each in shared]
        summary[[USEFULNESS_FAIRNESS.column, PRIVACY_FAIRNESS.column]] = np.nan
        if len(groups) == len(_GROUPINGS):
            alike = [group for _, group in groups]
            summary[USEFULNESS_FAIRNESS.column] = [
                fairness_of_usefulness(values, each, weights, groups) for each in shared
            ]
            summary[PRIVACY_FAIRNESS.column] = [fairness(1 - each.risk, alike) for each in equilibria.values()]
        return summary

    def records(self, study: MaskingStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per subject and policy with the released attributes.

        Columns are those of `record_table`, then ``gap`` (if the solver of some policy bounds the payoff that a better
        strategy could add; missing for the other policies), then the attributes; see `released`.
        """
        game = study.games(draw)[0]
        bounded = any(each.gap is not None for each in equilibria.values())

        def behind(equilibrium: Equilibrium) -> pd.DataFrame:
            table = released(study, game.world, equilibrium, game)
            if bounded:
                table.insert(0, "gap", np.nan if equilibrium.gap is None else equilibrium.gap)
            return table

        return record_table(equilibria, np.arange(game.n_records), game.space.describe, released=behind)

    def analyse(self, study: MaskingStudy, outcomes: Mapping[str, PolicyOutcome], report: Progress) -> MaskingAnalysis:
        """Return the greedy search for the record in ``figures.search_path``, if any."""
        record = study.scenario.figures.search_path
        if record is None:
            return MaskingAnalysis()

        def label(attribute: str, value: int) -> str:
            return study.tables.label(attribute, np.array([value]))[0]

        return MaskingAnalysis(search_path=search_path_table(*study.games(0), record, equilibria_of(outcomes), label))

    def facts(self, study: MaskingStudy) -> dict[str, Any]:
        """Return facts about subjects, resources and knowledge."""
        game, _ = study.games(0)
        facts: dict[str, Any] = {
            "records": game.n_records,
            "strategies": game.space.size,
            "people": study.tables.n_people,
            "resources": {name: table.n_rows for name, table in game.world.resources.items()},
            "data_hash": study.fingerprint,
        }
        known = {
            name: {
                "method": "exact",
                "knowledge_sets": enumerate_sets(each.knowledge).n_sets,
                "linked_on": list(each.knowledge.attributes),
                "price": each.knowledge.total_price,
            }
            for name, (each, _) in study.games_against_each(0).items()
            if isinstance(each, PartialKnowledgeGame)
        }
        if known:
            facts["knowledge"] = known.get(None, known)
        return facts

    def warnings(self, study: MaskingStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield warnings about unregistered targets and strategies not proved optimal.

        A target is unregistered if it is not in the resource of an attack's last stage.
        """
        games = [game for game, _ in study.games_against_each(draw).values()]
        missing = {}
        for each in games:
            registered = each.world.registered
            if registered is not None and not registered.all():
                missing[each.attack.identify.resource] = int((~registered).sum())
        n = games[0].n_records
        for resource, number in missing.items():
            yield f"{number} of {n} targets are not in resource {resource!r}; no attack on these targets succeeds" + (
                " in this resource" if len(games) > 1 else ""
            )
        for policy, equilibrium in equilibria_of(outcomes).items():
            if equilibrium.gap is not None and equilibrium.gap.any():
                yield (
                    f"{policy}: {int((equilibrium.gap > 0).sum())} of {n} strategies are not proved optimal; "
                    f"the payoff of a better strategy is at most {equilibrium.gap.max():,.2f} higher"
                )


def released(study: MaskingStudy, world: MultistageWorld, equilibrium: Equilibrium, game: MaskingGame) -> pd.DataFrame:
    """Return every attribute as released: a row per subject, a column per attribute.

    A value is unchanged, ``group of VALUE`` at an intermediate level, or missing if masked. All values of a withheld
    record are missing.
    """
    columns = {}
    levels = game.space.levels(np.maximum(equilibrium.strategies, 0))
    for position, attribute in enumerate(study.scenario.subjects.attributes):
        labels = np.array(study.tables.label(attribute, world.targets.column(attribute)), dtype=object)
        level = levels[:, position]
        masked = equilibrium.withheld | (level == game.space.shape[position] - 1)
        between = (level > 0) & ~masked
        labels[between] = [f"group of {label}" for label in labels[between]]
        columns[attribute] = pd.Series(labels, dtype="str").mask(masked)
    return pd.DataFrame(columns)


def search_path_table(
    game: MaskingGame,
    believed: MaskingGame,
    record: int,
    equilibria: Mapping[str, Equilibrium],
    label: Callable[[str, int], str],
) -> pd.DataFrame:
    """Return the outcome of each strategy of a greedy search.

    The table also names the policies that recommend each strategy.

    Parameters
    ----------
    game : MaskingGame
        The true game, against a two-stage attack.
    believed : MaskingGame
        The game that the subject believes in, in which the search runs.
    record : int
    equilibria : mapping of str to Equilibrium
        Outcome by policy, in the true game.
    label : callable
        Function that returns the text of an attribute's value.

    Returns
    -------
    DataFrame
        One row per strategy of the search, in search order; then one row for each other outcome of a policy: strategies
        off the path, withholding the record, and strategies played against the adversary without inference. Columns:
        ``record``, ``step`` (from 0; missing off the path), ``strategy``, ``masked`` and ``shared_loci`` (numbers of
        attributes), ``inferred_surname`` and ``confidence`` (missing without an inference), ``attacked``, ``utility``,
        ``privacy`` (1 - probability of re-identification), ``benefit``, ``loss`` (expected) and ``payoff`` (in currency
        units), and ``recommended_by`` (policies, separated by commas; empty if none).
    """
    path = greedy_path(believed, record)
    rows = {(strategy, True): {"step": n, **_row(game, record, strategy, label)} for n, strategy in enumerate(path)}
    policies: dict[tuple[int, bool], list[str]] = {}
    for policy, equilibrium in equilibria.items():
        strategy = int(equilibrium.strategies[record])
        # A strategy has a different outcome against an adversary without inference.
        played = game.one_stage() if policy_named(policy).without_inference else game
        key = (strategy, played is game or strategy == WITHHELD)
        policies.setdefault(key, []).append(policy)
        if key not in rows:
            rows[key] = {"step": None, **_row(played, record, strategy, label)}
    table = pd.DataFrame([{"record": record, **row} for row in rows.values()])
    table["recommended_by"] = [", ".join(policies.get(key, [])) for key in rows]
    return table.astype({"step": "Int64", "confidence": "float64"})


def _row(game: MaskingGame, record: int, strategy: int, label: Callable[[str, int], str]) -> dict[str, object]:
    strategies = np.full(game.n_records, WITHHELD, dtype=np.int64)
    strategies[record] = strategy
    outcome = game.evaluate(Choice(strategies, "", np.zeros(game.n_records, dtype=np.int64), exact=False))
    surname, confidence = (values[record] for values in game.confidence(strategies))
    attacked, utility = bool(outcome.attacked[record]), float(outcome.utility[record])
    lost = float(outcome.success_probability[record]) if attacked else 0.0
    shared = game.space.shared(max(strategy, 0)) & (strategy != WITHHELD)
    # In a two-stage attack, the attributes on which the last stage does not link are loci.
    loci = [name not in game.attack.identify.on for name in game.space.attributes]
    return {
        "strategy": "withheld" if strategy == WITHHELD else game.space.describe(strategy),
        "masked": int((~shared).sum()),
        "shared_loci": int((shared & loci).sum()),
        "inferred_surname": label(game.attack.inferences[0].infers, int(surname)) if surname >= 0 else None,
        "confidence": float(confidence) if surname >= 0 else np.nan,
        "attacked": attacked,
        "utility": utility,
        "privacy": 1.0 - lost,
        "benefit": float(np.asarray(game.benefit)[record]) * utility,
        "loss": float(np.asarray(game.loss)[record]) * lost,
        "payoff": float(outcome.publisher_payoff[record]),
    }
