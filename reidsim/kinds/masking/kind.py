"""Define the kind of scenario in which data subjects mask attributes.

Data subjects decide which attributes of their records are shared, generalized or masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import count_sets, enumerate_sets
from reidsim.agents.attack import RUN_MEASURES
from reidsim.agents.profile import Setting
from reidsim.core.errors import refuse_first
from reidsim.core.files import read_toml, require_memory
from reidsim.core.tables import read_table
from reidsim.core.wording import counted, in_words, measures_worded
from reidsim.games.cross_play import MOST_FORMS
from reidsim.games.masking.game import (
    MaskingGame,
    PartialKnowledgeGame,
    birth_decades,
    fairness,
    fairness_of_usefulness,
    state_groups,
    usefulness,
)
from reidsim.games.masking.searches import greedy_path
from reidsim.games.outcomes import Equilibrium
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.kinds.masking.policies import POLICIES, check_policies, policy_named
from reidsim.kinds.masking.schema import GeneralizedAttribute, MaskingScenario
from reidsim.kinds.masking.study import MaskingStudy, build_masking_study, masking_adversaries, setting_of
from reidsim.populations.resources import PeopleList
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.releases.lattice import Strategies
from reidsim.scenarios import agents as scenario_agents
from reidsim.scenarios.adversary_schema import WeightedSection
from reidsim.scenarios.kind import (
    AnalysisTables,
    Kind,
    PolicyOutcome,
    Progress,
    RecordTable,
    SharedColumns,
    equilibria_of,
)
from reidsim.scenarios.registry import K_ANONYMITY, k_of, with_each_k
from reidsim.scenarios.scenario import Scenario
from reidsim.scenarios.schema import spelled_out

_WORDS = read_toml(Path(__file__).with_name("measures.toml"))
_OWN = measures_worded(_WORDS["own"])
USEFULNESS, USEFULNESS_FAIRNESS, PRIVACY_FAIRNESS = _OWN.values()
MEASURES = (*in_words(RUN_MEASURES, _WORDS["games"]), *_OWN.values())
SUBJECT_PAYOFF = MEASURES[0]

# Sections that affect only the games: people and tables do not depend on them.
_NOT_OF_THE_STUDY = ("economics", "beliefs", "publisher", "measures", "title", "source")
# Lower bound on the memory of a row of a drawn table, bytes: refuses only tables that certainly do not fit.
_ROW_BYTES = 200
# Attributes that define the groups in fairness measures (Wan et al. 2021, note S8).
_GROUPINGS: dict[str, Callable[[Any], Any]] = {"age": birth_decades, "state": state_groups}
# Prefix of a value in the results that is released at an intermediate level.
_GROUP_OF = "group of "


class MaskingKind(Kind):
    """Game of data subjects who decide which attributes to share; see `Kind`."""

    name = "masking"
    words = "data subjects decide which attributes of their records are shared, generalized or masked"
    schema = MaskingScenario
    measures = MEASURES
    drawn_by = "reidsim.kinds.masking.figures"
    policies = POLICIES
    decides = "subject"
    numbers_draws = True

    # Studies

    def build(self, loaded: Scenario[Any]) -> MaskingStudy:
        """Read the people or files of the tables, and return the `MaskingStudy`.

        The sizes of drawn tables are first checked against the free memory.

        Raises
        ------
        InputError
            If the tables would not fit into memory, or a file or value cannot be used.
        """
        tables = (loaded.scenario.targets, *loaded.scenario.resources.values())
        needed = _ROW_BYTES * sum(table.size or 0 for table in tables)
        require_memory(needed, "too large for memory", source=loaded.path, hint="smaller tables need less")
        return build_masking_study(loaded)

    def build_after(self, loaded: Scenario[Any], before: MaskingStudy) -> MaskingStudy:
        """Return the `MaskingStudy` of a scenario, with the people of the study `before`.

        The people are read again unless both scenarios have the same folder and section ``population``, and no table is
        a file.

        Raises
        ------
        InputError
            If a file or value cannot be used.
        """
        return build_masking_study(loaded, before.tables)

    def describe(self, study: MaskingStudy) -> str:
        """Check that the policies can be played; return one line on the game's size.

        The line has the numbers of subjects, strategies, rows of each resource, and replications, and for each
        adversary with background knowledge the number of knowledge sets (combinations of attributes that it may know).
        Numbers of subjects and rows are from the first replication.

        Raises
        ------
        InputError
            If a policy cannot be played.
        """
        self.require_playable(study, 0)
        game, _ = study.games(0)
        parts = [counted(game.n_records, "subject"), counted(game.space.size, "strategy", "strategies")]
        parts += [f"{name} of {table.n_rows:,}" for name, table in game.world.resources.items()]
        parts.append(counted(study.draws, "replication"))
        for name, each in _informed(study).items():
            sets, linked = counted(count_sets(each.knowledge), "knowledge set"), ", ".join(each.knowledge.attributes)
            parts.append(f"up to {sets} per subject, linked on {linked}" + (f" by {name}" if name else ""))
        return ", ".join(parts)

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the scenario content (a dict) that determines people and tables.

        Two scenarios with equal content can share these data.
        """
        content = {key: value for key, value in spelled_out(loaded.content).items() if key not in _NOT_OF_THE_STUDY}
        if "adversaries" in content:
            content["adversaries"] = {
                name: {key: value for key, value in section.items() if key not in WeightedSection.model_fields}
                for name, section in content["adversaries"].items()
            }
        return content

    def require_playable(self, study: MaskingStudy, draw: int) -> None:
        """Check that the policies can be played with the subjects of a draw.

        Raises
        ------
        InputError
            If the scenario's policies or solver are not supported; see `check_policies`.
        """
        check_policies(study, study.games(draw)[0])

    # Results

    def summarise(self, study: MaskingStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per policy, the index: mean outcomes, usefulness and fairness.

        Means are over the subjects of the draw. Columns are the ones of every kind (see `Kind.summarise`),
        ``usefulness``, ``usefulness_fairness`` and ``privacy_fairness``. Fairness compares groups by birth decade and
        by state; it is missing unless subjects can share both ``age`` and ``state``. See
        `reidsim.games.masking.game`.
        """
        attributes, game = study.scenario.subjects.attributes, study.games(draw)[0]
        values, weights = game.world.targets.matrix(attributes), study.weights(game.world)
        places = {attributes.index(name): group for name, group in _GROUPINGS.items() if name in attributes}
        groups = [(place, np.asarray(group(values[:, place]))) for place, group in places.items()]
        summary, own = super().summarise(study, draw, equilibria), []
        for found in equilibria.values():
            shared = game.space.shared(np.maximum(found.strategies, 0)) & ~found.withheld[:, None]
            both = np.nan, np.nan
            if len(groups) == len(_GROUPINGS):
                of_privacy = fairness(1 - found.risk, [group for _, group in groups])
                both = fairness_of_usefulness(values, shared, weights, groups), of_privacy
            own.append((usefulness(values, shared, weights), *both))
        summary[list(_OWN)] = np.array(own)
        return summary

    def records(self, study: MaskingStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> RecordTable:
        """Return the parts of a table of one row per subject and policy, with its released values.

        Columns are those of `RecordTable`, then ``gap`` (if the solver of some policy bounds the payoff that a better
        strategy could add; missing for the other policies), then the attributes. A value is unchanged, ``group of
        VALUE`` at an intermediate level, or missing if masked. All values of a withheld record are missing.
        """
        game, labels = study.games(draw)[0], {}
        bounded = any(each.gap is not None for each in equilibria.values())
        for name in study.scenario.subjects.attributes:
            labels[name] = np.array(study.tables.label(name, game.world.targets.column(name)), dtype=object)

        rows = self.row_of_record(study, draw)

        def released(policy: str, strategies: Strategies, records: slice) -> pd.DataFrame:
            gap = equilibria[policy].gap
            columns: dict[str, Any] = {"gap": gap[rows[records]] if gap is not None else np.nan} if bounded else {}
            levels = game.space.all_levels(np.maximum(strategies, 0)).T
            for (name, values), level, size in zip(labels.items(), levels, game.space.shape, strict=True):
                masked, shown = (strategies < 0) | (level == size - 1), values[records]
                shown = np.where((level > 0) & ~masked, _GROUP_OF + shown, shown)
                columns[name] = pd.Series(shown, dtype="str").mask(masked)
            return pd.DataFrame(columns, range(len(strategies)))

        subjects = np.bincount(rows)
        return RecordTable(
            equilibria, rows, lambda _, strategy: game.space.describe(strategy), subjects, released=released
        )

    def analyse(self, study: MaskingStudy, outcomes: Mapping[str, PolicyOutcome], report: Progress) -> AnalysisTables:
        """Return the table ``search_path``: the steps of a greedy search for one record.

        ``figures.search_path`` is the number of the record; without this key, the result has no tables. The table also
        has the strategies that policies choose off the path; see `search_path_table`.
        """
        record = study.scenario.figures.search_path
        if record is None:
            return AnalysisTables()
        return AnalysisTables({"search_path": search_path_table(study, record, equilibria_of(outcomes))})

    def facts(self, study: MaskingStudy) -> dict[str, Any]:
        """Return facts about subjects, resources and knowledge for the manifest, by key.

        They are ``records`` (number of subjects), ``strategies``, ``people`` (number in the population; 0 with files),
        ``resources`` (number of rows by resource), ``data_hash`` and, with background knowledge, ``knowledge``. With
        several adversaries, ``knowledge`` is a dict by adversary.
        """
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
                "knowledge_sets": len(enumerate_sets(each.knowledge).sets),
                "linked_on": list(each.knowledge.attributes),
                "price": each.knowledge.total_price,
            }
            for name, each in _informed(study).items()
        }
        return {**facts, "knowledge": known.get(None, known)} if known else facts

    def warnings(self, study: MaskingStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield texts that warn of unregistered targets and of strategies without proof.

        A target (data subject) is unregistered if it is not in the resource of an attack's last stage. A strategy lacks
        a proof of optimality if the solver's bound on the payoff that a better strategy could add is above 0.
        """
        games, missing = [game for game, _ in study.games_against_each(draw).values()], {}
        for each in games:
            registered = each.world.registered
            if registered is not None and not registered.all():
                missing[each.attack.identify.resource] = int((~registered).sum())
        n, where = games[0].n_records, " in this resource" if len(games) > 1 else ""
        for resource, number in missing.items():
            succeeds = f"no attack on these targets succeeds{where}"
            yield f"{number} of {n} targets are not in resource {resource!r}; {succeeds}"
        for policy, equilibrium in equilibria_of(outcomes).items():
            if equilibrium.gap is not None and equilibrium.gap.any():
                yield (
                    f"{policy}: {int((equilibrium.gap > 0).sum())} of {n} strategies are not proved optimal; "
                    f"the payoff of a better strategy is at most {equilibrium.gap.max():,.2f} higher"
                )

    # Rounds and cross-play

    def settings(self, study: MaskingStudy) -> Callable[[str, int, int], Setting]:
        """Return a function that makes the `Setting` of repeated rounds.

        Its arguments are the policy, the number of the draw of the tables, and the number of the repetition of all
        rounds on these tables. It raises `InputError` if the policies or adversaries cannot play; see `setting_of`.
        """
        return partial(setting_of, study, self.agents_of(study.scenario))

    def lists(self, study: MaskingStudy) -> dict[str, PeopleList]:
        """Return the lists drawn from the people, by name of the resource, in the first draw of the tables."""
        return {} if study.tables.lists is None else study.tables.lists.draw(study.scenario.seed)

    def opponents(
        self, study: MaskingStudy, options: scenario_agents.OpponentOptions, draw: int = 0
    ) -> tuple[MaskingStudy, scenario_agents.Opponents]:
        """Return the same study, and the `Opponents` of cross-play in a draw of tables.

        See `masking_adversaries`.

        Raises
        ------
        InputError
            If the options have an attack recipe, because a masking scenario has its own stages, or if the scenario's
            own adversary, or one that the options describe, cannot play.
        """
        problem, expected = "a masking scenario sets its own stages", "adversary.stages of the scenario"
        refuse_first((options.stages is not None, problem, "stages", options.stages, expected))
        return study, masking_adversaries(study, options, draw)

    def opponent_types(self, study: MaskingStudy, draw: int = 0) -> scenario_agents.Opponents:
        """Return the adversary types of repeated rounds for cross-play, as `Opponents`.

        Each type has all resources that it holds or may buy. If no adversary sets keys for rounds, the result has no
        types, only further games in which a defender may plan; see `Kind.opponent_types`. The games of the types
        enumerate only the levels of attributes that some stage of an attack uses. If there are too many strategies
        (`MOST_FORMS`), the result contains only the reason why the types cannot play.
        """
        if not scenario_agents.are_equipped(study.scenario):
            return scenario_agents.ideas_of_several(study, draw)
        games = [game for game, _ in study.games_against_each(draw).values()]
        space = games[0].space
        if space.size > MOST_FORMS:
            reason = f"adversary types cannot play: there are more than {MOST_FORMS:,} possible releases"
            return scenario_agents.Opponents(left_out=(reason, scenario_agents.LEFT_OUT))
        setting = self.settings(study)("masking", draw, 0)
        looked_at = frozenset(name for game in games for name in game.attack.looked_at)
        return scenario_agents.types_of_setting(setting, replace(space, focus=looked_at))

    def cross_play_policies(self, study: MaskingStudy) -> tuple[str, ...]:
        """Return names of the policies of cross-play: of the kind, then of the scenario.

        The policies of the kind are in the order of `MaskingPolicy.row`, with k-anonymity once for each k of the
        scenario. k-anonymity is left out, unless the scenario names it, if some attributes are always shared or k
        exceeds the number of subjects.
        """
        section, n = study.scenario.subjects, study.games(0)[0].n_records
        rows = {name: policy.row for name, policy in POLICIES.items() if policy.row is not None}
        names = with_each_k(sorted(rows, key=rows.__getitem__), section.k)
        anonymous = [name for name in names if name.startswith(K_ANONYMITY)]
        wrong = [a for a in anonymous if section.always_shared or k_of(policy_named(a), section.k, "subjects.k") > n]
        return tuple(dict.fromkeys((*(name for name in names if name not in wrong), *section.policies)))

    def takes_best(self, scenario: MaskingScenario, policy: str) -> bool:
        """Return whether a policy finds the best of a fixed set of strategies.

        The set does not depend on payoff parameters. This holds if the policy has `takes_best`, or if it uses the
        scenario's solver, and this is "best-first" or "backward-induction". `policy` is the policy's name.
        """
        rule = policy_named(policy)
        exact = scenario.subjects.solver in ("best-first", "backward-induction")
        return rule.takes_best or (rule.search == "scenario" and exact)

    # Shared files

    def release_file(self, scenario: MaskingScenario) -> str | None:
        """Return the path of the targets' file as in the scenario; None if they are drawn."""
        return scenario.targets.file

    def shared_columns(self, scenario: MaskingScenario) -> SharedColumns:
        """Return the attributes of the targets' file that subjects can share.

        The result is a `SharedColumns`.
        """
        return SharedColumns(scenario.columns, delimiter=scenario.targets.delimiter, counts_release=False)

    def read_records(self, scenario: MaskingScenario, path: Path) -> pd.DataFrame:
        """Return all columns of the targets' file as text, with unchanged values.

        Lines that begin with ``#`` are skipped.
        """
        return read_table(path, delimiter=scenario.targets.delimiter, comment="#", trim=False)

    def released_values(self, scenario: MaskingScenario, records: pd.DataFrame, attribute: str) -> pd.Series[str]:
        """Return an attribute as released, as text: its value, its group, or ``*``.

        Texts such as ``group of VALUE`` are replaced by the label of the group at the record's level, which hides the
        value; a masked value is ``*``.

        Parameters
        ----------
        scenario : MaskingScenario
        records : DataFrame
            Table of records of one policy, with columns ``strategy`` and `attribute`.
        attribute : str
        """
        column: pd.Series[str] = records[attribute].astype("str").mask(records[attribute].isna())
        section, strategies = scenario.subjects.generalize.get(attribute), records["strategy"].astype("str")
        levels = () if section is None else (partial(group_label, level, section) for level in range(len(section.kept)))
        for level, label in enumerate(levels, start=1):
            marks = {text: f" {attribute}~{level} " in f" {text} " for text in strategies.unique()}
            at_level = strategies.map(marks).astype(bool) & column.notna()
            values = column[at_level].str.removeprefix(_GROUP_OF)
            column = column.mask(at_level, values.map({value: label(value) for value in values.unique()}))
        return column.fillna(SUPPRESSED)

    def is_shared(self, records: pd.DataFrame) -> NDArray[np.bool_]:
        """Return whether each record is released, shape (n,).

        A record is not released if its strategy is ``withheld``, or ``nothing``, which masks all attributes. `records`
        is a table of records with column ``strategy``.
        """
        return ~records["strategy"].astype("str").isin(("withheld", "nothing")).to_numpy()

    # Presentation

    def attacker(self, scenario: MaskingScenario, name: str) -> tuple[str, str | None]:
        """Return the planner's name and the knowledge recipe of an adversary.

        The planner is the one in the scenario; but "one-shot" becomes "multistage" if the adversary has no knowledge
        recipe, because it may then infer before it links. The recipe is None if the adversary has none. `name` is the
        adversary's name.
        """
        planner, recipe = super().attacker(scenario, name)
        return "multistage" if planner == "one-shot" and recipe is None else planner, recipe


def _informed(study: MaskingStudy) -> dict[str | None, PartialKnowledgeGame]:
    """Return the true game of the first draw against each adversary with knowledge.

    The dict has the name of each adversary with partial knowledge (None for a single one); it is empty if there is
    none.
    """
    games = study.games_against_each(0).items()
    return {name: each for name, (each, _) in games if isinstance(each, PartialKnowledgeGame)}


def group_label(place: int, section: GeneralizedAttribute, value: str) -> str:
    """Return the label of a value at a level between shared and masked.

    The label is an interval such as ``20-29``, or the values of the group, joined by "or". Intervals start at 0; a
    value outside the listed groups is unchanged.

    Parameters
    ----------
    place : int
        Number of the level, less 1.
    section : GeneralizedAttribute
        Widths of the intervals or groups of values at each level.
    value : str
    """
    if section.widths:
        width = section.widths[place]
        low = int(value) // width * width
        return f"{low}-{low + width - 1}"
    return next((" or ".join(group) for group in section.groups[place] if value in group), value)


def search_path_table(study: MaskingStudy, record: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return the outcome of each strategy of a record's greedy search.

    The game is of the first draw of the tables. The subject searches in the game that it believes in; outcomes are of
    the true game. The table also names the policies that recommend each strategy.

    Parameters
    ----------
    study : MaskingStudy
        Its games are against a two-stage attack.
    record : int
        Number of the subject, from 0.
    equilibria : mapping of str to Equilibrium
        Outcome by policy, in the true game.

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
    game, believed = study.games(0)
    # A strategy has a different outcome against an adversary without inference.
    steps = {(strategy, True): step for step, strategy in enumerate(greedy_path(believed, record))}
    policies: dict[tuple[int, bool], list[str]] = {key: [] for key in steps}
    for policy, equilibrium in equilibria.items():
        strategy = int(equilibrium.strategies[record])
        inferring = strategy == WITHHELD or not policy_named(policy).in_another_game
        policies.setdefault((strategy, inferring), []).append(policy)
    rows = []
    for (strategy, inferring), names in policies.items():
        row = _row(study, game if inferring else game.one_stage(), record, strategy)
        step = steps.get((strategy, inferring))
        rows.append({"record": record, "step": step, **row, "recommended_by": ", ".join(names)})
    return pd.DataFrame(rows).astype({"step": "Int64", "confidence": "float64"})


def _row(study: MaskingStudy, game: MaskingGame, record: int, strategy: int) -> dict[str, object]:
    strategies = np.full(game.n_records, WITHHELD, dtype=np.int64)
    strategies[record] = strategy
    found = game.evaluate(Choice(strategies, "", np.zeros(game.n_records, dtype=np.int64), exact=False))
    surname, confidence = (values[record] for values in game.confidence(strategies))
    attacked, utility = bool(found.attacked[record]), float(found.utility[record])
    lost = float(found.success_probability[record]) if attacked else 0.0
    shared = game.space.shared(max(strategy, 0)) & (strategy != WITHHELD)
    # In a two-stage attack, the attributes on which the last stage does not link are loci.
    loci = [name not in game.attack.identify.on for name in game.space.attributes]
    inferred = surname >= 0
    label = study.tables.label(game.attack.inferences[0].infers, np.array([surname]))[0] if inferred else None
    return {
        "strategy": "withheld" if strategy == WITHHELD else game.space.describe(strategy),
        "masked": int((~shared).sum()),
        "shared_loci": int((shared & loci).sum()),
        "inferred_surname": label,
        "confidence": float(confidence) if inferred else np.nan,
        "attacked": attacked,
        "utility": utility,
        "privacy": 1.0 - lost,
        "benefit": float(np.asarray(game.benefit)[record]) * utility,
        "loss": float(np.asarray(game.loss)[record]) * lost,
        "payoff": float(found.publisher_payoff[record]),
    }


MASKING = MaskingKind()
