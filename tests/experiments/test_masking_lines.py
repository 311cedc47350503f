"""Lines of a masking scenario: every policy while one key changes, under the same draws."""

import numpy as np
import pandas as pd
import pytest

from reidsim.errors import InputError
from reidsim.experiments.masking_lines import LINE_MEASURES, line_points, line_table
from reidsim.reports.figures.masking_lines import masking_lines
from reidsim.scenarios.load import load_scenario

SMALL = {
    "population.recipe": "ystr-genealogy-small",
    "targets.size": 40,
    "resources.registry.size": 400,
    "resources.genealogy.size": 400,
    "subjects.policies": ["no-protection", "opt-in", "masking", "no-attack-masking"],
}


def loaded(*lines, **changes):
    return load_scenario("wan2021", {**SMALL, "analysis.lines": list(lines), **changes})


def line(key, values, replications=2, **more):
    return {"key": key, "values": values, "replications": replications, **more}


@pytest.fixture(scope="module")
def table():
    return line_table(
        loaded(
            line("economics.loss", [50, 150, 400], title="Loss"),
            line("adversary.stages.0.method", ["tmrca", "nearest-neighbour"]),
            line(
                "subjects.attributes",
                [["age", "state", "DYS19"], ["age", "state", "DYS19", "DYS385"]],
                labels=["one", "two"],
            ),
        )
    )


@pytest.mark.deep
def test_a_line_has_a_row_for_each_value_draw_and_policy(table):
    assert list(table.columns) == ["line", "value", "replication", "policy", *LINE_MEASURES]
    assert len(table) == (3 + 2 + 2) * 2 * 4
    values = table.groupby("line", sort=False)["value"].unique()
    assert {name: list(of) for name, of in values.items()} == {
        "Loss": ["50", "150", "400"],
        "adversary.stages.0.method": ["tmrca", "nearest-neighbour"],
        "subjects.attributes": ["one", "two"],
    }


@pytest.mark.deep
def test_a_value_that_the_scenario_has_gives_its_own_result(table):
    from reidsim.experiments.run import run_loaded

    result = run_loaded(loaded(replications=2))
    here = table[(table["line"] == "Loss") & (table["value"] == "150")].set_index(["replication", "policy"])
    own = result.runs.set_index(["replication", "policy"])
    for measure in LINE_MEASURES:
        np.testing.assert_array_equal(here[measure], own.loc[here.index, measure])


@pytest.mark.deep
def test_a_larger_loss_never_pays_the_subject_more(table):
    losses = table[table["line"] == "Loss"].pivot(
        index=["replication", "policy"], columns="value", values="publisher_payoff"
    )
    # Gain follows loss here, so that attacks only become more frequent.
    assert (losses["400"] <= losses["150"] + 1e-9).all()
    assert (losses["150"] <= losses["50"] + 1e-9).all()


@pytest.mark.deep
def test_mistaken_beliefs_never_pay_and_right_ones_cost_nothing():
    truth = line_table(loaded(line("economics.cost", [5, 30])))
    mistaken = line_table(loaded(line("economics.cost", [5, 30], overrides={"beliefs.cost": 30})))
    columns = ["value", "replication", "policy"]
    both = truth.merge(mistaken, on=columns, suffixes=("", "_mistaken"))
    games = both[both["policy"].isin(["opt-in", "masking"])]
    assert (games["publisher_payoff_mistaken"] <= games["publisher_payoff"] + 1e-9).all()
    right = both[both["value"] == "30"]
    np.testing.assert_allclose(right["publisher_payoff_mistaken"], right["publisher_payoff"])
    wrong = games[games["value"] == "5"]
    assert (wrong["publisher_payoff_mistaken"] < wrong["publisher_payoff"] - 1e-9).any()


@pytest.mark.deep
def test_databases_believed_smaller_are_planned_for_and_paid_at_their_true_size():
    table = line_table(loaded(line("resources.genealogy.size", [400], overrides={"beliefs.sizes.genealogy": 20})))
    truth = line_table(loaded(line("resources.genealogy.size", [400])))
    payoff = {name: t.set_index("policy")["publisher_payoff"] for name, t in (("mistaken", table), ("right", truth))}
    assert (payoff["mistaken"]["masking"] <= payoff["right"]["masking"] + 1e-9).all()
    assert (payoff["mistaken"]["masking"] < payoff["right"]["masking"] - 1e-9).any()
    # What involves no choice is what it is.
    np.testing.assert_array_equal(payoff["mistaken"]["no-protection"], payoff["right"]["no-protection"])


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (line("economics.lost", [1]), r"analysis.lines\[0\]: economics.lost: unknown key"),
        (line("economics.loss", [-1]), r"analysis.lines\[0\]: economics.loss: value not allowed; found -1"),
        (line("economics.loss", [1], overrides={"seeed": 1}), r"analysis.lines\[0\]: seeed: unknown key"),
        (line("adversary.stages.5.method", ["tmrca"]), r"analysis.lines\[0\]: adversary.stages: no such entry"),
    ],
)
def test_a_line_that_cannot_be_is_named_before_anything_is_played(bad, problem):
    with pytest.raises(InputError, match=problem):
        line_points(loaded(bad))


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"key": "economics.loss", "values": []}, "values"),
        ({"key": "economics.loss", "values": [1], "labels": ["a", "b"]}, "labels do not fit the values"),
        ({"key": "economics.loss", "values": [1], "replications": 0}, "replications"),
    ],
)
def test_a_line_is_validated(bad, problem):
    with pytest.raises(InputError, match=problem):
        loaded(bad)


def test_sizes_are_believed_of_resources_that_are_drawn():
    with pytest.raises(InputError, match=r"beliefs.sizes.genealogie: not a resource that is drawn"):
        loaded(**{"beliefs.sizes.genealogie": 5})


@pytest.mark.deep
@pytest.mark.parametrize("measure", ["publisher_payoff", "utility", "risk"])
def test_lines_are_drawn(table, measure):
    figure = masking_lines(table, measure)
    assert [axes.get_xlabel() for axes in figure.axes if axes.get_visible()] == list(table["line"].unique())
    first = figure.axes[0]
    np.testing.assert_array_equal(first.lines[0].get_xdata(), [50, 150, 400])
    curves = [np.asarray(own.get_ydata(), dtype=float) for own in first.lines]
    drawn = {tuple(np.round(curve, 9)) for curve in curves}
    loss = table[table["line"] == "Loss"]
    values = 1 - loss["risk"] if measure == "risk" else loss[measure]
    means = loss.assign(shown=values).groupby(["policy", "value"], sort=False)["shown"].mean()
    for policy in loss["policy"].unique():
        assert tuple(np.round(means[policy][["50", "150", "400"]], 9)) in drawn


def test_an_empty_table_is_not_drawn():
    with pytest.raises(InputError, match="no rows"):
        masking_lines(pd.DataFrame())
