"""Value trees: nodes, chains, and errors of invalid trees."""

import pytest

from reidsim.core.errors import InputError
from reidsim.linkage.equivalence import TOP, ValueTree
from reidsim.populations.population import Attribute
from reidsim.releases.hierarchy import Hierarchy

GROUPS = {
    "Asian or Pacific Islander": ["Asian", "Pacific Islander"],
    "not White": ["Asian or Pacific Islander", "Black"],
    "any": ["not White", "White"],
}


def above(tree: ValueTree, label: str) -> list[str]:
    node, found = tree.labels.index(label), []
    while tree.parent[node] != TOP:
        node = tree.parent[node]
        found.append(tree.labels[node])
    return found


def test_values_come_first_and_groups_are_above_their_members():
    tree = ValueTree.from_groups("race", GROUPS)
    assert tree.attribute == Attribute("race", ("Asian", "Pacific Islander", "Black", "White"))
    assert tree.labels[:4] == tree.attribute.categories
    assert above(tree, "Asian") == ["Asian or Pacific Islander", "not White", "any"]
    assert above(tree, "White") == ["any"]
    assert above(tree, "any") == []


def test_a_hierarchy_gives_a_node_per_group_of_values():
    attribute = Attribute("age", ("1", "2", "3"))
    hierarchy = Hierarchy.from_labels(attribute, [["1-2", "1-2", "3"], ["1-2", "1-2", "3"], ["*", "*", "*"]])
    tree = ValueTree.from_hierarchy(hierarchy)
    # "3" and "1-2" are the same group at two levels.
    assert sorted(tree.labels) == sorted(["1", "2", "3", "1-2", "*"])
    assert above(tree, "1") == ["1-2", "*"]
    assert above(tree, "3") == ["*"]


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        ({"a": ["1", "2"], "b": ["2", "3"]}, "in two groups; found '2'"),
        ({"a": ["b"], "b": ["a"]}, "the groups contain no value"),
        ({"a": ["b", "1"], "b": ["a", "2"]}, "a group contains itself"),
        ({}, "the groups contain no value"),
    ],
)
def test_what_is_no_tree_is_refused(groups, problem):
    with pytest.raises(InputError, match=problem):
        ValueTree.from_groups("age", groups)


def test_two_groups_of_one_name_are_refused():
    attribute = Attribute("age", ("1", "2", "3"))
    with pytest.raises(InputError, match="two values or groups have the same name; found '2'"):
        ValueTree.from_hierarchy(Hierarchy.from_labels(attribute, [["2", "2", "x"], ["*", "*", "*"]]))


def test_a_value_that_is_not_covered_is_named_with_its_row():
    tree = ValueTree.from_groups("race", GROUPS)
    with pytest.raises(InputError, match="row 2, column 'Race': value missing from the value tree of 'race'"):
        tree.encode(["White", "Whyte"], "Race")
