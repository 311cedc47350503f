"""Files named after user input stay in their folder, under distinct names."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from tiers import examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.core.files import plain_name, require_plain
from reidsim.reports import drawing

HOSTILE = ["../../outside", "/etc/passwd", "..", "a/b", "a\\b", "a b", "", ".hidden", "nul\x00", "x" * 300, "C:x"]


@examples(150)
@given(names=st.lists(st.one_of(st.text("ab-./\\ é\x00", max_size=6), st.sampled_from(HOSTILE)), max_size=6))
def test_plain_names_are_those_of_different_files_of_one_folder(names, tmp_path_factory):
    plain: dict[str, str] = {}
    for name in names:
        plain[plain_name(name, plain)] = name
    assert list(plain.values()) == names
    folder = tmp_path_factory.getbasetemp()
    for each in plain:
        path = (folder / f"{each}.csv").resolve()
        assert path.parent == folder.resolve()
        assert not path.name.startswith(".")


def test_plain_names_stay_as_they_are():
    assert [plain_name(name) for name in ("age", "zip_3", "Größe-2")] == ["age", "zip_3", "Größe-2"]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in ("a b", ".hidden", "x" * 300)])
def test_a_name_that_is_a_path_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    people = pd.DataFrame({"age": [30, 34, 52, 55], "sex": ["F", "F", "M", "M"]})
    with pytest.raises(InputError, match="new: argument 'name': not a valid name; found"):
        reidsim.new(people, name=name)
    assert not list(tmp_path.iterdir())
    require_plain("a b", "name")


def test_figures_stay_in_their_folder_each_with_its_own_name(tmp_path, monkeypatch):
    figures = [(name, Figure()) for name in ("payout-curves-loss", "../../outside", "a/b", "a b", "/abs")]
    monkeypatch.setattr(drawing, "figures_of", lambda result: iter(figures))
    names = drawing.illustrate(None, tmp_path / "results" / "figures")
    assert names[0] == "payout-curves-loss.png"
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.png")) == sorted(
        f"results/figures/{name}" for name in names
    )
    assert len(set(names)) == len(figures)


def test_tables_of_a_game_are_beside_its_scenario_whatever_columns_are_called(tmp_path):
    names = ["../../age", "a/b", "a b"]
    people = pd.DataFrame({name: ["x", "y", "x", "y"] for name in names})
    levels = {name: pd.DataFrame({"own": ["x", "y"], "all": [f"{number}"] * 2}) for number, name in enumerate(names)}
    scenario = reidsim.Scenario.from_frames(
        people, hierarchies=levels, economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 12}
    )
    (tmp_path / "deep" / "er").mkdir(parents=True)
    path = tmp_path / "deep" / "er" / "mine.toml"
    scenario.to_toml(path)
    tables = {each for each in tmp_path.rglob("*") if each.is_file()} - {path}
    assert {each.parent for each in tables} == {path.with_name("mine-tables")}
    for number in range(len(names)):
        assert sum(f';"{number}"\n' in each.read_text() for each in tables) == 1
    pd.testing.assert_frame_equal(reidsim.run(path).summary, scenario.run().summary)
