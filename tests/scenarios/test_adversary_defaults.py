"""``[adversary]`` gives the defaults of each section ``[adversaries.NAME]``."""

from pathlib import Path

import pytest

from reidsim.core.errors import InputError
from reidsim.scenarios.scenario import Scenario
from reidsim.scenarios.schema import spelled_out

TOWN = Path(__file__).parent / "town" / "town.toml"
STAGES = [{"stage": "identify", "resource": "list", "on": ["age"]}]


@pytest.mark.parametrize(
    ("defaults", "own", "whole"),
    [
        ({"risk": "prosecutor"}, {"gain": 5}, {"risk": "prosecutor", "gain": 5}),
        ({"risk": "prosecutor"}, {"risk": "journalist"}, {"risk": "journalist"}),
        ({"sequential": {"penalty": 1, "prior": 2}}, {"sequential": {"prior": 3}},
         {"sequential": {"penalty": 1, "prior": 3}}),
        # An adversary with its own planner has its own rate and parameters. It inherits the default's errors if its
        # planner can err.
        ({"planner": "random", "rate": 0.2}, {"planner": "one-shot"}, {"planner": "one-shot"}),
        ({"planner": "random", "rate": 0.2}, {"rate": 0.3}, {"planner": "random", "rate": 0.3}),
        ({"rationality": "logit", "precision": 2}, {"planner": "always"}, {"planner": "always"}),
        ({"rationality": "logit", "precision": 2}, {"rationality": "perfect"}, {"rationality": "perfect"}),
        ({"rationality": "logit", "precision": 2}, {"precision": 3}, {"rationality": "logit", "precision": 3}),
        # One linkage method replaces another.
        ({"stages": "attack.toml"}, {"knowledge": "voters"}, {"knowledge": "voters"}),
        ({"knowledge": "voters"}, {"holds": ["list"]}, {"holds": ["list"]}),
        ({"holds": ["list"]}, {"buys": ["list"]}, {"buys": ["list"]}),
        ({"knowledge": "voters"}, {"holds": []}, {"holds": []}),
        ({"stages": STAGES, "overconfident": True}, {"knowledge": "voters", "resource": "list"},
         {"knowledge": "voters", "resource": "list"}),
        # Stages that name resources use the resources that the adversary holds.
        ({"stages": STAGES}, {"holds": ["list"]}, {"stages": STAGES, "holds": ["list"]}),
    ],
)  # fmt: skip
def test_what_an_adversary_does_not_say_is_taken_from_the_defaults(defaults, own, whole):
    content = {"seed": 1, "adversary": defaults, "adversaries": {"a": own, "b": {}}}
    assert spelled_out(content) == {"seed": 1, "adversaries": {"a": whole, "b": defaults}}


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"adversary.risk": "nobody"}, r"adversary\.risk: value not allowed; found 'nobody'"),
        ({"adversary.riks": "sample"}, r"adversary\.riks: unknown key.*did you mean 'risk'"),
        ({"adversary.sequential.prior": 2}, r"adversary\.sequential\.prior: value not allowed"),
        ({"adversary.weight": 2}, r"adversary\.weight: "),
        ({"adversaries.a.risk": "nobody"}, r"adversaries\.a\.risk: value not allowed"),
    ],
)
def test_an_error_names_the_section_in_which_it_stands(sets, message):
    with pytest.raises(InputError, match=message):
        Scenario.load(TOWN, {"adversaries": {"a": {}}, **sets})


def test_a_scenario_on_top_gives_defaults_names_or_one_adversary_instead(tmp_path):
    below = f'extends = {str(TOWN)!r}\n[adversary]\nplanner = "fmdp"\n[adversaries.solo]\ngain = 70\n'
    (tmp_path / "below.toml").write_text(below)

    def sections(text):
        (tmp_path / "above.toml").write_text(f'extends = "below.toml"\n{text}')
        scenario = Scenario.load(tmp_path / "above.toml").scenario
        return {key: section.planner for key, section in scenario.every_adversary.items()}

    assert sections("") == {"adversaries.solo": "fmdp"}
    assert sections('[adversary]\nplanner = "always"\n') == {"adversaries.solo": "always"}
    two = '[adversaries.solo]\nweight = 0.5\n[adversaries.other]\nweight = 0.5\nplanner = "never"\n'
    assert sections(two) == {"adversaries.solo": "fmdp", "adversaries.other": "never"}
    assert sections("adversaries = {}\n") == {"adversary": "fmdp"}


@pytest.mark.parametrize(
    ("adversaries", "adversary"), [([], {}), ("x", 5), ({"a": 5}, []), ({"a": []}, {"risk": []}), ([{}], {})]
)
def test_what_is_no_section_is_one_clear_error(adversaries, adversary):
    with pytest.raises(InputError, match=r"advers") as caught:
        Scenario.load(TOWN, {"adversaries": adversaries, "adversary": adversary})
    assert "\n" not in str(caught.value)
