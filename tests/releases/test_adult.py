"""The Adult files: small files in their format, and the real files if present."""

from reidsim.populations.catalogue import load_population
from reidsim.releases.records import COLUMNS, read_adult

DATA = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K
90, ?, 77053, HS-grad, 9, Widowed, ?, Not-in-family, Asian-Pac-Islander, Female, 0, 4356, 40, ?, >50K
27, Private, 160178, Some-college, 10, Divorced, Sales, Unmarried, Amer-Indian-Eskimo, Female, 0, 0, 38, Cuba, <=50K
"""  # noqa: E501 - lines as in the file
TEST = "|1x3 Cross validator\n" + DATA.replace("50K\n", "50K.\n") + "\n"


def written(tmp_path, text):
    path = tmp_path / "adult.data"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_training_file_is_read_with_census_names_of_races(tmp_path):
    frame = read_adult(written(tmp_path, DATA))
    assert tuple(frame.columns) == COLUMNS
    assert frame["age"].tolist() == ["39", "90", "27"]
    assert frame["race"].tolist() == ["White", "API", "AIAN"]
    assert frame["sex"].tolist() == ["Male", "Female", "Female"]
    assert frame["income"].tolist() == ["<=50K", ">50K", "<=50K"]


def test_the_test_file_is_read_past_its_first_line_with_the_dots_after_its_incomes(tmp_path):
    frame = read_adult(written(tmp_path, TEST))
    assert len(frame) == 3
    assert frame["age"].tolist() == ["39", "90", "27"]
    assert frame["race"].tolist() == ["White", "API", "AIAN"]
    assert frame["income"].tolist() == ["<=50K.", ">50K.", "<=50K."]


def counts_of(frame):
    return frame.groupby(["age", "race", "sex"]).size().to_dict()


def test_the_real_training_file_holds_the_counts_of_the_bundled_table(adult_folder):
    frame = read_adult(adult_folder / "adult.data")
    assert len(frame) == 32_561
    bundled = load_population("adult")
    labels = bundled.domain.decode(bundled.cells).astype(str)
    table = dict(zip(labels.itertuples(index=False, name=None), bundled.counts.tolist(), strict=True))
    assert counts_of(frame) == table
