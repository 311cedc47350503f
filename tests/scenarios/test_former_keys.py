"""Scenarios of a former form are refused with where each of their keys moved."""

import sys

import pytest
from pydantic import BaseModel

from reidsim.bundled import bundled_names
from reidsim.cli import main
from reidsim.errors import InputError
from reidsim.scenarios.former_keys import FORMER_KEYS, former_keys, refuse_former
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.registry import schemas

PRICE = {"values": [1, 2]}
GAMES = schemas()


def told(content, game="tables"):
    return {former.key: former.now or former.instead for former in former_keys(content, game)}


def test_keys_that_only_moved_say_where():
    sequential = {"largest_group": 3, "beliefs": True}
    content = {"analysis": {"strategies": {"age": "30"}, "sequential": sequential}}
    assert told(content) == {"analysis.strategies": "figures.strategies", "analysis.sequential": "figures.sequential"}
    assert told({"analysis": {"nodes": {"top": 3}}}) == {"analysis.nodes": "figures.nodes"}
    assert told({"analysis": {"search_path": 0}}, "masking") == {"analysis.search_path": "figures.search_path"}
    assert told({"analysis": {"settings": {}}}, "risk") == {"analysis.settings": "figures.settings"}


def test_a_section_is_told_of_beside_its_parts_only_where_it_holds_more():
    thresholds = {"thresholds": {"penalty": PRICE}}
    assert list(told({"analysis": {"sequential": thresholds}})) == ["analysis.sequential.thresholds"]
    both = {"analysis": {"sequential": {**thresholds, "largest_group": 9}}}
    assert list(told(both)) == ["analysis.sequential.thresholds", "analysis.sequential"]
    assert list(told({"analysis": {}})) == ["analysis"]
    assert list(told({"analysis": {"maps": {}, "colour": "red"}})) == ["analysis.maps", "analysis"]


def test_keys_of_another_game_are_told_of_as_what_they_are_in():
    assert list(told({"analysis": {"curves": {"loss": PRICE}}}, "masking")) == ["analysis"]
    assert list(told({"analysis": {"curves": {"loss": PRICE}}}, "tables")) == ["analysis.curves"]


def test_a_scenario_of_the_present_form_is_left_alone():
    for name in bundled_names("scenarios"):
        loaded = load_scenario(name)
        assert former_keys(loaded.content, str(loaded.content.get("game", "tables"))) == []


def model_at(game, key):
    """Return the section class that holds the last part of a key, and that part."""
    *sections, last = key.split(".")
    model = GAMES[game]
    for section in sections:
        annotation = model.model_fields[section].annotation
        options = [annotation, *getattr(annotation, "__args__", ())]
        model = next(option for option in options if isinstance(option, type) and issubclass(option, BaseModel))
    return model, last


@pytest.mark.parametrize("former", FORMER_KEYS, ids=lambda former: f"{former.game}:{former.key}")
def test_every_former_key_is_gone_and_what_took_its_place_is_there(former):
    first, *below = former.key.split(".")
    if first in GAMES[former.game].model_fields and former.key != "stress.lines":
        assert below, f"{former.key} is there"
        model, last = model_at(former.game, former.key)
        assert last not in model.model_fields
    if former.now:
        model, last = model_at(former.game, former.now)
        assert last in model.model_fields
    assert bool(former.now) != bool(former.instead)
    if " as " in former.instead:
        assert former.instead.rpartition(" ")[2] in bundled_names("scenarios")


def test_the_error_names_file_key_and_place():
    content = {"analysis": {"strategies": {}, "lines": {"cost": PRICE}}}
    with pytest.raises(InputError) as caught:
        refuse_former(content, "tables", "old.toml")
    message = str(caught.value)
    assert message.startswith("old.toml: analysis.strategies, analysis.lines: former keys; expected ")
    assert "figures.strategies in place of analysis.strategies" in message
    assert "a [sweep] of payoff parameters one at a time, as wan2015-sweep in place of analysis.lines" in message
    assert "\n" not in message


def test_a_file_that_extends_a_bundled_one_is_checked_as_a_whole(tmp_path, capsys, monkeypatch):
    path = tmp_path / "mine.toml"
    path.write_text('extends = "prasser2017"\n[analysis.runtimes]\nloss = [0]\n')
    for command in ("check", "run", "explain"):
        monkeypatch.setattr(sys, "argv", ["reidsim", command, str(path)])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 2
        error = capsys.readouterr().err
        assert "mine.toml: analysis.runtimes: former key" in error
        assert "prasser2017-runtimes" in error


@pytest.mark.parametrize(
    ("game", "instead"), [("record-level", '"tables"'), ("full-domain", 'publisher.unit = "table"')]
)
def test_games_that_became_one_kind_are_told_so(game, instead, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f'game = "{game}"\n')
    with pytest.raises(InputError, match=f"mine.toml: game: former value; found '{game}'; expected .*{instead}"):
        load_scenario(path)
