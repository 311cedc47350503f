"""The reference pages are generated from schemas and commands.

Every key is explained.
"""

from pathlib import Path

import pytest
import reference
import typer
from documented import sections_below

from reidsim.cli import app
from reidsim.scenarios.kind import schemas

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
PAGES = reference.reference_pages()


def test_the_committed_pages_are_those_that_the_tool_writes():
    """After a change of a schema or a command, run `python tools/reference.py`."""
    assert {name: (FOLDER / name).read_text(encoding="utf-8") for name in PAGES} == PAGES


@pytest.mark.parametrize("game", schemas())
def test_every_section_and_key_of_a_game_has_a_description(game):
    for section in sections_below(schemas()[game]):
        assert section.__doc__, section.__name__
        for name, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{name}"


def test_every_option_of_a_command_has_a_description():
    for name, command in typer.main.get_command(app).commands.items():
        assert [parameter.name for parameter in command.params if not parameter.help] == [], name
