import pytest
from found import at_least

from reidsim.errors import InputError
from reidsim.populations.domain import Attribute
from reidsim.releases.hierarchy import hierarchy_from_rows
from reidsim.releases.hierarchy_file import check_header, read_hierarchy_rows

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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Masters;Higher\nBachelors;Higher\n", "value missing from its hierarchy; found 'HS-grad'"),
        ("Masters;A;B\nBachelors;A;C\nHS-grad;B;B\n", "'Bachelors' and 'Masters' are together at level 1"),
        ("Masters;A\nMasters;A\n", "row 2: value has two rows; found 'Masters'"),
    ],
)
def test_rows_that_are_no_hierarchy_say_what_is_wrong(tmp_path, text, message):
    rows = read_hierarchy_rows(written(tmp_path, text))
    with pytest.raises(InputError, match=message):
        hierarchy_from_rows(EDUCATION, rows)


@pytest.mark.parametrize("other", [",", "\t", "|"])
def test_one_column_that_holds_another_delimiter_is_refused(tmp_path, other):
    path = written(tmp_path, f"Masters{other}Higher\nBachelors{other}Higher\nHS-grad{other}School\n")
    with pytest.raises(InputError, match="row 1: the file has one column") as caught:
        read_hierarchy_rows(path)
    assert f"is its delimiter {other!r}?" in str(caught.value)


def arx_hierarchies(adult_folder):
    """Return the files of all nine attributes of ARX's example."""
    folder = adult_folder / "arx_hierarchies"
    if not folder.is_dir():
        pytest.skip("no ARX hierarchies beside the Adult files")
    return at_least(9, sorted(folder.glob("*.csv")))


def test_first_rows_of_arx_hierarchies_are_values(adult_folder):
    """The first row is a value row for any set of used values."""
    for path in arx_hierarchies(adult_folder):
        rows = read_hierarchy_rows(path)
        check_header(rows, header=False, used=set(), names={"value"})
        with pytest.raises(InputError, match="the first row is that of a value, not a header"):
            check_header(rows, header=True, used=set())
        headed = [["value", *(f"level{level}" for level in range(1, len(rows[0])))], *rows]
        check_header(headed, header=True, used={row[0] for row in rows})
        with pytest.raises(InputError, match="the first row looks like a header"):
            check_header(headed, header=False, used={row[0] for row in rows})
