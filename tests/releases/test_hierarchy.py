import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import nested_levels

from reidsim.core.errors import InputError
from reidsim.populations.population import Attribute
from reidsim.releases.hierarchy import Hierarchy, hierarchy_from_rows, read_hierarchy_rows, uncovered

ABCD = Attribute("letter", ("a", "b", "c", "d"))


def labelled(levels):
    return [[f"{k}/{group}" for group in groups] for k, groups in enumerate(levels) if k > 0]


@st.composite
def random_hierarchies(draw):
    levels = draw(nested_levels(draw(st.integers(1, 7)), max_levels=5))
    attribute = Attribute("x", tuple(f"v{value}" for value in range(len(levels[0]))))
    return levels, Hierarchy.from_labels(attribute, labelled(levels))


@given(drawn=random_hierarchies())
def test_values_share_a_group_when_they_share_a_label(drawn):
    levels, hierarchy = drawn
    assert hierarchy.n_levels == len(levels)
    for level, groups in enumerate(levels):
        assert hierarchy.n_groups[level] == len(set(groups))
        for a, b in itertools.combinations(range(len(groups)), 2):
            assert (hierarchy.groups[level, a] == hierarchy.groups[level, b]) == (groups[a] == groups[b])
        for value, group in enumerate(groups):
            expected = f"v{value}" if level == 0 else f"{level}/{group}"
            assert hierarchy.labels[level][hierarchy.groups[level, value]] == expected


@given(drawn=random_hierarchies(), data=st.data())
def test_costless_merging_is_charged_as_the_level_below(drawn, data):
    levels, plain = drawn
    costless = data.draw(st.sets(st.integers(1, max(1, len(levels) - 1)))) if len(levels) > 1 else set()
    hierarchy = Hierarchy.from_labels(plain.attribute, labelled(levels), costless_levels=sorted(costless))
    for level in range(len(levels)):
        charged = level
        while charged in costless:
            charged -= 1
        np.testing.assert_array_equal(hierarchy.charged_sizes[level], plain.charged_sizes[charged])


@given(data=st.data())
def test_exactly_the_levels_that_split_something_are_rejected(data):
    size = data.draw(st.integers(2, 6))
    groups = st.lists(st.integers(0, size - 1), min_size=size, max_size=size)
    below, above = data.draw(groups), data.draw(groups)
    attribute = Attribute("x", tuple(f"v{value}" for value in range(size)))
    split = [(a, b) for a, b in itertools.combinations(range(size), 2) if below[a] == below[b] and above[a] != above[b]]
    levels = [[f"below {group}" for group in below], [f"above {group}" for group in above]]
    if not split:
        assert Hierarchy.from_labels(attribute, levels).n_levels == 3
        return
    with pytest.raises(InputError) as caught:
        Hierarchy.from_labels(attribute, levels)
    message = str(caught.value)
    named = {value for value in range(size) if f"'v{value}'" in message}
    assert tuple(sorted(named)) in split


def test_a_label_of_other_values_is_refused():
    """Without its level, a reader could not tell for which values it stands."""
    with pytest.raises(InputError, match=r"'x', level 1: one label.*; found \"'b' for 'a', and at level 0 for 'b'\""):
        Hierarchy.from_labels(Attribute("x", ("a", "b", "c")), [["b", "c", "c"]])
    nested = [["other", "b", "other"], ["*", "other", "*"]]
    with pytest.raises(InputError, match="level 2: one label for different groups"):
        Hierarchy.from_labels(Attribute("x", ("other", "b", "c")), nested)
    # A group may keep the name of one of its values, and a star stands for any value.
    Hierarchy.from_labels(Attribute("x", ("other", "b", "c")), [["other", "*", "other"], ["other"] * 3, ["*"] * 3])


@pytest.mark.parametrize("level", [0, 2, -1])
def test_only_a_level_above_the_first_can_be_costless(level):
    with pytest.raises(InputError, match=f"no such level; found {level}; expected a level from 1 to 1"):
        Hierarchy.from_labels(ABCD, [["*"] * 4], costless_levels=[level])


@given(drawn=random_hierarchies(), data=st.data())
def test_a_hierarchy_survives_being_written_as_rows(drawn, data):
    levels, hierarchy = drawn
    rows = [
        [f"v{value}", *(f"{k}/{groups[value]}" for k, groups in enumerate(levels) if k > 0)]
        for value in range(len(levels[0]))
    ]
    again = hierarchy_from_rows(hierarchy.attribute, data.draw(st.permutations(rows)))
    np.testing.assert_array_equal(again.groups, hierarchy.groups)
    assert again.labels == hierarchy.labels


EDUCATION = Attribute("education", ("Bachelors", "HS-grad", "Masters"))


def written(tmp_path, text):
    path = tmp_path / "education.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_as_arx_writes_it_is_read(tmp_path):
    path = written(tmp_path, "Masters;Higher;*\nBachelors;Higher;*\nHS-grad;School;*\nPreschool;School;*\n")
    hierarchy = hierarchy_from_rows(EDUCATION, read_hierarchy_rows(path))
    assert hierarchy.n_groups == (3, 2, 1)
    assert [hierarchy.labels[1][group] for group in hierarchy.groups[1]] == ["Higher", "School", "Higher"]
    assert hierarchy.labels[2] == ("*",)


@pytest.mark.parametrize("other", [",", "\t", "|"])
def test_one_column_that_holds_another_delimiter_is_refused(tmp_path, other):
    path = written(tmp_path, f"Masters{other}Higher\nBachelors{other}Higher\nHS-grad{other}School\n")
    with pytest.raises(InputError, match="row 1: the file has one column, and ") as caught:
        read_hierarchy_rows(path)
    assert f"set the delimiter to {other!r}" in str(caught.value)


def test_groups_are_counted_merged_moved_and_written(tmp_path):
    hierarchy = Hierarchy.from_labels(ABCD, [["x", "x", "y", "z"], ["s", "s", "s", "t"], ["*"] * 4])
    counts = hierarchy.counts({"a": 3, "b": 1, "d": 2}).set_index(["level", "group"])
    assert counts.loc[(1, "x")].tolist() == ["s", 2, 4]
    assert counts.loc[(3, "*")].tolist() == ["", 4, 6]
    merged = hierarchy.regroup(1, ["c", "b"], "w")
    assert merged.table.to_numpy().tolist() == [
        ["a", "x", "s", "*"],
        ["b", "w", "s", "*"],
        ["c", "w", "s", "*"],
        ["d", "z", "t", "*"],
    ]
    assert hierarchy.regroup(1, ["a"], "y").labels[1] == ("y", "x", "z")
    assert hierarchy.regroup(1, ["a"], "alone").table[2].tolist() == ["s", "s", "s", "t"]
    merged.table.to_csv(tmp_path / "letters.csv", sep=";", header=False, index=False)
    rows = read_hierarchy_rows(tmp_path / "letters.csv")
    assert hierarchy_from_rows(ABCD, rows).table.equals(merged.table)
    assert uncovered(["a", "e", ""], rows) == ["e", ""]


@given(drawn=random_hierarchies(), data=st.data())
def test_edited_hierarchies_stay_nested_and_keep_their_values(drawn, data):
    _, hierarchy = drawn
    level = data.draw(st.integers(1, max(1, hierarchy.n_levels - 1)))
    if level < hierarchy.n_levels:
        moved = data.draw(st.sampled_from(hierarchy.labels[level - 1]))
        to = data.draw(st.sampled_from([*hierarchy.labels[level], "new"]))
        before, above = hierarchy.table, list(range(level + 1, hierarchy.n_levels))
        joined = before[(before[level - 1] == moved) | (before[level] == to)]
        if above and joined[above[0]].nunique() > 1:
            with pytest.raises(InputError, match=f"joins groups of level {level + 1}"):
                hierarchy.regroup(level, [moved], to)
            return
        edited = hierarchy.regroup(level, [moved], to)
        assert edited.attribute == hierarchy.attribute
        of_value = edited.table[level][before[level - 1] == moved]
        assert set(of_value) == {to}
        # Labels of other levels stand for the same values as before.
        assert edited.table.drop(columns=level).equals(before.drop(columns=level))


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda each: each.regroup(0, ["a"], "x"), "no such level"),
        (lambda each: each.regroup(1, ["q"], "x"), "no such group"),
        (lambda each: each.regroup(2, ["a"], "s"), "no such group"),
        (lambda each: each.regroup(1, ["c", "d"], "w"), "joins groups of level 2; found 's, t'"),
        (lambda each: each.regroup(1, ["a"], "z"), "joins groups of level 2"),
        (lambda each: each.cut(1, [3, 2]), "cut points do not increase"),
        (lambda each: each.cut(1, [3]), "not a whole number"),
    ],
)
def test_impossible_edits_are_refused(edit, problem):
    hierarchy = Hierarchy.from_labels(ABCD, [["x", "x", "y", "z"], ["s", "s", "s", "t"]])
    with pytest.raises(InputError, match=problem):
        edit(hierarchy)


def test_bands_that_split_a_narrower_band_are_refused():
    ages = Attribute("age", tuple(map(str, range(40))))
    fives = Hierarchy.from_labels(ages, [[f"{age // 5} x 5" for age in range(40)], ["*"] * 40])
    assert fives.cut(2, [10, 20]).labels[2] == ("<10", "10-19", "20+")
    with pytest.raises(InputError, match="not nested"):
        fives.cut(2, [18])
    assert fives.cut(1, [5, 6, 20]).labels[1] == ("<5", "5", "6-19", "20+")
