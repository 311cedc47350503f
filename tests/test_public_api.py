"""Scripts that import only `reidsim` and need no private modules."""

import ast
import runpy
from functools import cache
from pathlib import Path

import pytest

import reidsim

SCRIPTS = {path.stem: path for path in sorted((Path(__file__).parent / "public_api").glob("*.py"))}
NAMES = ("masking_game", "own_adversary", "own_csv_and_price_sweep", "own_policy", "sequential_planner")


@pytest.fixture(scope="module")
def names_of(tmp_path_factory):
    """Return a function that runs a script once and returns its names."""
    folder = tmp_path_factory.mktemp("scripts")

    @cache
    def run(script):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            return runpy.run_path(str(SCRIPTS[script]), run_name="__main__") | {"folder": folder}

    return run


@pytest.mark.parametrize("script", NAMES)
def test_a_script_is_short_and_uses_public_names_only(script):
    assert list(SCRIPTS) == list(NAMES)
    text = SCRIPTS[script].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 25
    tree = ast.parse(text)
    names = {
        *(alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names),
        *(node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)),
    }
    assert "reidsim" in names
    assert names <= {"reidsim", "numpy", "pandas"}
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "reidsim"
    }
    assert used <= set(reidsim.__all__)


@pytest.mark.parametrize(
    "script",
    [pytest.param(name, marks=[pytest.mark.deep] if name in ("own_adversary", "own_policy") else []) for name in NAMES],
)
def test_a_script_runs(script, names_of, capsys):
    names_of(script)
    assert capsys.readouterr().out.strip()


def test_a_higher_loss_never_pays_more(names_of):
    names = names_of("own_csv_and_price_sweep")
    assert (names["payoffs"].sort_index().groupby("economics.cost").diff().dropna() <= 1e-9).all().all()
    assert (names["folder"] / "prices.png").stat().st_size > 10_000


def test_the_planner_attacks_groups_of_up_to_47_as_printed(names_of):
    """Xia et al. 2015, setting of the page on sequential adversaries: 47, not 48."""
    assert names_of("sequential_planner")["known"].accesses.tolist() == [True, True, True, False]


def test_masking_pays_at_least_what_no_protection_does_for_each_person(names_of):
    records = names_of("masking_game")["records"]
    payoffs = records["publisher_payoff"].unstack("policy")
    assert (payoffs["masking"] >= payoffs["no-protection"] - 1e-9).all()
    assert not records.loc["no-attack-masking", "attacked"].any()
