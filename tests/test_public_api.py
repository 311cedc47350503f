"""Five scripts that import only `reidsim` and need no private modules."""

import ast
import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent / "public_api").glob("*.py"))


def played(script, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return runpy.run_path(str(script), run_name="__main__"), capsys.readouterr().out


def test_there_are_five_scripts():
    assert len(SCRIPTS) == 5


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_short_and_imports_from_reidsim_alone(script):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 25
    tree = ast.parse(text)
    names = {
        *(alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names),
        *(node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)),
    }
    assert "reidsim" in names
    assert names <= {"reidsim", "numpy", "pandas"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs_and_uses_public_names_alone(script, tmp_path, monkeypatch, capsys):
    import reidsim

    _, printed = played(script, tmp_path, monkeypatch, capsys)
    assert printed.strip()
    used = {
        node.attr
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "reidsim"
    }
    assert used <= set(reidsim.__all__)


def test_a_higher_loss_never_pays_more(tmp_path, monkeypatch, capsys):
    names, _ = played(
        SCRIPTS[[s.stem for s in SCRIPTS].index("own_csv_and_price_sweep")], tmp_path, monkeypatch, capsys
    )
    assert (names["payoffs"].sort_index().groupby("economics.cost").diff().dropna() <= 1e-9).all().all()
    assert (tmp_path / "prices.png").stat().st_size > 10_000


def test_the_planner_alone_attacks_groups_of_up_to_47_as_printed(tmp_path, monkeypatch, capsys):
    """Xia et al. 2015, setting of the page on sequential adversaries: 47, not 48."""
    script = next(s for s in SCRIPTS if s.stem == "sequential_planner")
    names, _ = played(script, tmp_path, monkeypatch, capsys)
    assert names["known"].accesses.tolist() == [True, True, True, False]


def test_masking_pays_at_least_what_no_protection_does_for_each_person(tmp_path, monkeypatch, capsys):
    script = next(s for s in SCRIPTS if s.stem == "masking_game")
    names, _ = played(script, tmp_path, monkeypatch, capsys)
    outcomes = names["outcomes"]
    assert (outcomes["masking"].publisher_payoff >= outcomes["no-protection"].publisher_payoff - 1e-9).all()
    assert not outcomes["no-attack-masking"].attacked.any()
