"""The pages on user-defined parts: short examples, and a package with entry points."""

import sys
import tomllib

import pandas as pd
import pytest
from pages import OUTPUT, blocks_of

import reidsim

PAGES = ("own-policy", "own-measure", "parts-in-files", "kind", "package")
BLOCKS = [block for page in PAGES for block in blocks_of(f"how-to/{page}.md")]
FILES = {block.title: block.text for block in BLOCKS if block.title and block.title != OUTPUT}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Write the page's files and install its package with its entry points."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    about = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"]
    (about / "entry_points.txt").write_text(
        "\n".join(f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in names.items()) for group, names in groups.items())
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield groups
    for names in groups.values():
        for place in names.values():
            sys.modules.pop(place.partition(":")[0], None)


@pytest.mark.deep
def test_parts_of_the_package_are_named_in_a_scenario_and_give_what_the_modules_give(installed):
    assert set(installed) == {f"reidsim.{group}" for group in ("adversaries", "policies", "measures", "kinds")}
    policies = {"publisher.policies": ["basic", "appetite"]}
    by_name = reidsim.Scenario.load("ward.toml", {**policies, "adversary.planner": "persistent"})
    # The scenario names no code, so no permission is needed.
    assert not by_name.allow_code
    named = reidsim.run("ward.toml", overrides={**policies, "adversary.planner": "persistent"})
    from appetite import Appetite
    from persistent import Persistent

    played = reidsim.Scenario.from_frames(
        "patients.csv",
        hierarchies={"age": reidsim.intervals(10, 20), "sex": "suppress"},
        adversary=Persistent(60, 16, tries=3),
        economics={"benefit": 100, "loss": 60, "gain": 60, "cost": 16},
        policies=["basic", Appetite()],
    ).run()
    assert named.summary["publisher_payoff"].tolist() == pytest.approx(
        played.summary["publisher_payoff"].tolist(), rel=1e-12
    )


@pytest.mark.deep
def test_the_kind_of_the_package_is_named_without_its_module_and_gives_the_same(installed):
    own = reidsim.run("few.toml", allow_code=True)
    named = reidsim.run("few.toml", overrides={"game": "withholding"})
    # An attack on one of 1 or 4 people gains 60 or 15 and costs 2; on one of 40 it is not profitable. Sharing is worth
    # 10.
    assert own.summary.loc["basic", "publisher_payoff"] == pytest.approx(10 / 3, rel=1e-12)
    pd.testing.assert_frame_equal(named.summary, own.summary)
    assert named.manifest["parts"]["withholding"]["module"] == "withholding"
