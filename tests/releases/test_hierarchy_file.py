import pytest
from found import at_least

from reidsim.errors import InputError
from reidsim.populations.domain import Attribute
from reidsim.releases.hierarchy_file import check_header, read_hierarchy, read_hierarchy_rows

EDUCATION = Attribute("education", ("Bachelors", "HS-grad", "Masters"))


def written(tmp_path, text):
    path = tmp_path / "education.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_as_arx_writes_it_is_read(tmp_path):
    path = written(tmp_path, "Masters;Higher;*\nBachelors;Higher;*\nHS-grad;School;*\nPreschool;School;*\n")
    hierarchy = read_hierarchy(EDUCATION, path)
    assert hierarchy.n_groups == (3, 2, 1)
    assert [hierarchy.labels[1][group] for group in hierarchy.groups[1]] == ["Higher", "School", "Higher"]
    assert hierarchy.labels[2] == ("*",)


def test_another_delimiter_and_a_suppressed_level_can_be_asked_for(tmp_path):
    path = written(tmp_path, "Masters,Higher\nBachelors,Higher\nHS-grad,School\n")
    hierarchy = read_hierarchy(EDUCATION, path, delimiter=",", suppress=True, costless_levels=[1])
    assert hierarchy.n_groups == (3, 2, 1)
    assert hierarchy.charged_sizes.tolist() == [[1, 1, 1], [1, 1, 1], [3, 3, 3]]


def test_values_that_look_like_numbers_stay_text(tmp_path):
    path = written(tmp_path, "01;0*\n02;0*\n")
    assert read_hierarchy_rows(path) == [["01", "0*"], ["02", "0*"]]
    assert read_hierarchy(Attribute("zip", ("01", "02")), path).n_groups == (2, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Masters;Higher\nBachelors;Higher\n", "value missing from its hierarchy; found 'HS-grad'"),
        ("Masters;A;B\nBachelors;A;C\nHS-grad;B;B\n", "'Bachelors' and 'Masters' are together at level 1"),
        ("Masters;A\nMasters;A\n", "row 2: value has two rows; found 'Masters'"),
        ("", "the file is empty"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_hierarchy(EDUCATION, path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("other", [",", "\t", "|"])
def test_one_column_that_holds_another_delimiter_is_refused(tmp_path, other):
    path = written(tmp_path, f"Masters{other}Higher\nBachelors{other}Higher\nHS-grad{other}School\n")
    with pytest.raises(InputError, match="row 1: the file has one column") as caught:
        read_hierarchy(EDUCATION, path, suppress=True)
    assert f"is its delimiter {other!r}?" in str(caught.value)


def test_one_column_of_values_is_a_hierarchy_to_be_suppressed(tmp_path):
    """Values may hold commas, as long as it is not all of them."""
    path = written(tmp_path, "HS-grad\nBachelors\nMasters\nMasters, unfinished\n")
    assert read_hierarchy(EDUCATION, path, suppress=True).n_groups == (3, 1)


def arx_hierarchies(adult_folder):
    """Return the files of all nine attributes of ARX's example."""
    folder = adult_folder / "arx_hierarchies"
    if not folder.is_dir():
        pytest.skip("no ARX hierarchies beside the Adult files")
    return at_least(9, sorted(folder.glob("*.csv")))


def test_first_rows_of_arx_hierarchies_are_values(adult_folder):
    """Whatever values occur."""
    for path in arx_hierarchies(adult_folder):
        rows = read_hierarchy_rows(path)
        check_header(rows, header=False, used=set(), names={"value"})
        with pytest.raises(InputError, match="the first row is that of a value, not a header"):
            check_header(rows, header=True, used=set())
        headed = [["value", *(f"level{level}" for level in range(1, len(rows[0])))], *rows]
        check_header(headed, header=True, used={row[0] for row in rows})
        with pytest.raises(InputError, match="the first row looks like a header"):
            check_header(headed, header=False, used={row[0] for row in rows})


def test_arx_hierarchies_of_adult_can_be_read(adult_folder):
    for path in arx_hierarchies(adult_folder):
        rows = read_hierarchy_rows(path)
        hierarchy = read_hierarchy(Attribute(path.stem, tuple(row[0] for row in rows)), path)
        assert hierarchy.n_levels == len(rows[0])
        assert hierarchy.n_groups[-1] == 1
