"""The cross-play table, against games of each defender and adversary."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from contract_worlds import COST, GAIN, PLAYERS, SPACES, masking_world

from reidsim.adversaries.response import AlwaysAttacks
from reidsim.core.errors import InputError
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.cross_play import (
    ALL_TYPES,
    CROSS_PLAY_COLUMNS,
    WORST_TYPE,
    BestReply,
    FixedForms,
    Opponent,
    OptIn,
    SameForm,
    all_types,
    cross_play,
    outcome_of,
)

WEIGHTS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
DEFENDERS = [
    BestReply("best", may_withhold=True),
    BestReply("safe", no_attack=True, may_withhold=True),
    SameForm("same", weights=WEIGHTS),
    OptIn(),
    FixedForms("all", 0),
]


def mixed(space, rate):
    """Return a game of types who always and never attack, equal to random attacks."""
    always, never = (PLAYERS[f"{space}-{name}"].game for name in ("always", "never"))
    types = [
        AdversaryType("yes", rate, always.linker, always.adversary),
        AdversaryType("no", 1 - rate, never.linker, never.adversary),
    ]
    return TypesGame(always.space, types, always.benefit, always.loss)


def opponents(space):
    named = [Opponent(name, player.game) for name, player in SPACES[space].items() if name != "random"]
    if space == "masking":
        named[[each.name for each in named].index("multistage")] = Opponent("multistage", masking_world())
    return [*named, Opponent("random", mixed(space, 0.4))]


@pytest.fixture(scope="module")
def lattice():
    return cross_play(opponents("lattice"), DEFENDERS, own="fmdp", weights=WEIGHTS)


@pytest.fixture(scope="module")
def masking():
    defenders = [defender for defender in DEFENDERS if defender.name != "same"]
    return cross_play(opponents("masking"), [*defenders, SameForm("same")], own="multistage")


@pytest.mark.deep
@pytest.mark.parametrize("space", ["lattice", "masking"])
def test_every_row_is_the_game_played_by_itself(space, request):
    play, games = request.getfixturevalue(space), {each.name: each.truth for each in opponents(space)}
    weights = WEIGHTS if space == "lattice" else None
    assert list(play.table.columns) == list(CROSS_PLAY_COLUMNS)
    defenders = {defender.name: defender for defender in DEFENDERS}
    checked = 0
    for row in play.table.itertuples():
        if row.adversary == "random" or row.plans_against in (ALL_TYPES, WORST_TYPE) or row.defender == "same":
            continue
        choice = defenders[row.defender].choose(games[row.plans_against or "one-shot"])
        outcome = outcome_of(games[row.adversary], choice)
        for measure, values in (
            ("publisher_payoff", outcome.publisher_payoff),
            ("adversary_payoff", outcome.adversary_payoff),
            ("utility", outcome.utility),
            ("share_attacked", outcome.attacked),
            ("risk", np.where(outcome.attacked, outcome.success_probability, 0.0)),
        ):
            assert getattr(row, measure) == pytest.approx(np.average(values, weights=weights), abs=1e-12), measure
        checked += 1
    assert checked > 60


@pytest.mark.deep
@pytest.mark.parametrize("space", ["lattice", "masking"])
def test_nobody_regrets_the_best_reply_to_whom_it_meets_and_nobody_does_better(space, request):
    play = request.getfixturevalue(space)
    regret = play.table["regret"]
    assert (regret >= 0).all()
    met = play.table[(play.table["defender"] == "best") & (play.table["plans_against"] == play.table["adversary"])]
    assert len(met) == len(SPACES[space])
    assert (met["regret"] == 0).all()
    assert regret.max() > 1
    best = met.set_index("adversary")["publisher_payoff"]
    np.testing.assert_allclose(play.table["publisher_payoff"] + regret, best.loc[play.table["adversary"]], atol=1e-9)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_whoever_of_all_types_may_be_there_attacks_as_often_as_one_of_them_is(weights):
    """Enumerate which types are present; types are present independently."""
    chances = {"always": 0.25, "one-shot": 0.4, "fmdp-unknown": 0.5, "never": 0.7}
    games = {name: PLAYERS[f"lattice-{name}"].game for name in chances}
    one = games["always"]
    types = [AdversaryType(name, chances[name], game.linker, game.adversary) for name, game in games.items()]
    form = FixedForms("some", 5)
    choice = form.choose(one)
    attacks = {name: outcome_of(game, choice).attacked for name, game in games.items()}
    assert {name: (found.any(), found.all()) for name, found in attacks.items()} == {
        "always": (True, True), "one-shot": (True, False), "fmdp-unknown": (True, False), "never": (False, False),
    }  # fmt: skip
    assert (attacks["one-shot"] != attacks["fmdp-unknown"]).any()
    expected = 0.0
    for there in itertools.product([False, True], repeat=len(chances)):
        probability = np.prod([p if here else 1 - p for p, here in zip(chances.values(), there, strict=True)])
        present = [attacks[name] for name, here in zip(chances, there, strict=True) if here]
        expected += probability * np.average(np.any(present, axis=0) if present else np.zeros(12), weights=weights)
    together = TypesGame(one.space, types, one.benefit, one.loss, "all")
    play = cross_play([Opponent("several", together)], [form], weights=weights)
    assert play.table["share_attacked"].tolist() == [pytest.approx(expected, abs=1e-12)]
    alone = np.stack([p * outcome_of(games[name], choice).risk for name, p in chances.items()])
    reidentified = 1.0 - np.prod(1.0 - alone, axis=0)
    np.testing.assert_allclose(outcome_of(together, choice).risk, reidentified, atol=1e-12)
    assert play.table["risk"].tolist() == [pytest.approx(np.average(reidentified, weights=weights), abs=1e-12)]


def test_who_cannot_play_is_named_with_the_reason(monkeypatch):
    monkeypatch.setattr("reidsim.games.cross_play._MOST_FORMS", 5)
    opponents = [Opponent("one-shot", PLAYERS["lattice-one-shot"].game)]
    play = cross_play(opponents, [BestReply(), SameForm("regions")], own="one-shot")
    (left_out,) = play.left_out
    assert left_out.startswith("defender 'regions' cannot play: regions: too many releases to compare; found 12")
    assert set(play.table["defender"]) == {"basic"}


@dataclass(frozen=True)
class Fussy(AlwaysAttacks):
    """An adversary that raises an error for one group size."""

    refused: int = 0

    def respond(self, linkage, rows=None):
        if (linkage.group_sizes == self.refused).any():
            raise InputError("too many people")
        return super().respond(linkage, rows)


@pytest.mark.parametrize("refused", [1, 50], ids=["records as they are", "records told nothing of"])
def test_who_finds_out_late_that_it_cannot_play_is_left_out(refused):
    game = PLAYERS["lattice-always"].game
    fussy = Opponent("fussy", replace(game, adversary=Fussy(GAIN, COST, refused=refused)))
    one_shot, always = (Opponent(name, PLAYERS[f"lattice-{name}"].game) for name in ("one-shot", "always"))
    defenders = [OptIn(), FixedForms("nothing", 11)]
    play = cross_play([one_shot, fussy, always], defenders)
    assert play.left_out[0] == "adversary 'fussy' cannot play: too many people"
    expected = cross_play([one_shot, always], defenders)
    fixed = [table[table["defender"] == "nothing"].reset_index(drop=True) for table in (play.table, expected.table)]
    pd.testing.assert_frame_equal(*fixed)
    assert play.matrix("risk").shape[1] == 2
    with pytest.raises(InputError, match="too many people"):
        cross_play([one_shot, fussy], defenders, own="fussy")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda one: cross_play([clairvoyant()], [OptIn()]), "Clairvoyant.decides_on: an adversary cannot base its"),
        (lambda one: cross_play([one], [OptIn()]).matrix("regrets"), "no such measure; found 'regrets'"),
        (
            lambda one: all_types([Opponent("x", both("all"))]),
            "x: adversaries who attack together cannot be one adversary type; found 'all'",
        ),
    ],
)
def test_impossible_tables_are_refused(call, problem):
    with pytest.raises(InputError, match=problem):
        call(Opponent("one", PLAYERS["lattice-one-shot"].game))


class Clairvoyant(AlwaysAttacks):
    decides_on = frozenset({"group_sizes"})


def clairvoyant():
    game = PLAYERS["lattice-always"].game
    return Opponent("seer", replace(game, adversary=Clairvoyant(GAIN, COST)))


def both(together):
    game = mixed("lattice", 0.5)
    return TypesGame(game.space, game.types, game.benefit, game.loss, together)
