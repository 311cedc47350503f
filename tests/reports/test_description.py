"""The description of a file, against counting its rows one by one."""

import io
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.linkage.uniqueness import estimate_uniqueness
from reidsim.reports.description import describe, group_sizes
from reidsim.reports.study_tables import description_tables

VALUES = st.sampled_from(["", "x", "y", "z"])


@pytest.fixture
def patients(tmp_path):
    """Return a file of seven patients: one equal pair, and one patient without an age."""
    path = tmp_path / "patients.csv"
    path.write_text("age;sex;town\n30;F;A\n30;F;A\n41;M;A\n41;M;B\n41;M;B\n41;M;B\n;M;B\n", encoding="utf-8")
    return path


def printed(description, width=80):
    console = Console(file=io.StringIO(), width=width)
    for table in description_tables(description):
        console.print(table)
    return console.file.getvalue()


def test_a_file_in_another_encoding_is_read_by_option(tmp_path):
    path = tmp_path / "towns.csv"
    path.write_bytes("town\nKöln\nBonn\nBonn\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"line 2: not a text file in UTF-8.*or set --encoding"):
        describe(path)
    assert describe(path, encoding="latin-1").uniques == 1
    with pytest.raises(InputError, match="a table in memory has no encoding; found 'latin-1'"):
        describe(pd.DataFrame({"town": ["Köln"]}), encoding="latin-1")


@given(rows=st.lists(st.tuples(VALUES, VALUES, st.integers(0, 4)), min_size=1, max_size=15))
@examples(40)
def test_a_file_is_described_as_a_count_describes_it(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    # A row that counts one person, so that the file is not empty.
    rows = [*rows, ("x", "y", 1)]
    pd.DataFrame(rows, columns=["p", "q", "n"]).to_csv(path, index=False)
    description = describe(path, count="n")
    people = [row[:2] for row in rows for _ in range(row[2])]
    groups = Counter(people)
    assert description.rows == len(rows)
    assert description.records == len(people)
    assert description.cells == len(groups)
    assert description.uniques == sum(size == 1 for size in groups.values())
    assert description.profile.average_risk == pytest.approx(len(groups) / len(people))
    for position, attribute in enumerate(description.attributes):
        values = [person[position] for person in people]
        assert attribute.name == "pq"[position]
        assert attribute.distinct == len(set(values) - {""})
        assert attribute.missing == values.count("")


@given(data=st.data(), n_columns=st.integers(1, 4), n_rows=st.integers(1, 30), weighted=st.booleans())
@examples(60)
def test_groups_are_told_apart_whatever_the_number_of_cells(data, n_columns, n_rows, weighted):
    # Codes below 2**31 in four columns: up to 2**124 cells.
    codes = st.sampled_from([0, 1, 2**31 - 2])
    rows = data.draw(st.lists(st.tuples(*[codes] * n_columns), min_size=n_rows, max_size=n_rows))
    counts = data.draw(st.lists(st.integers(1, 5), min_size=n_rows, max_size=n_rows)) if weighted else [1] * n_rows
    columns = pd.DataFrame(rows, dtype=np.int32)
    groups = Counter()
    for row, count in zip(rows, counts, strict=True):
        groups[row] += count
    found = group_sizes(columns, np.array(counts) if weighted else None)
    assert sorted(found.tolist()) == sorted(groups.values())


def test_with_a_population_uniqueness_in_it_is_estimated(patients):
    description = describe(patients, population_size=1000, level=0.9, seed=3)
    independence, pairs, weights, pitman, ewens, zayatz = description.estimates
    assert [each.method for each in (independence, pairs, weights)] == [
        "log-linear-independence", "log-linear-pairs", "benedetti-franconi"
    ]  # fmt: skip
    assert weights.p_unique_given_sample_unique == pytest.approx(7 / 1000)
    assert pitman == estimate_uniqueness(description.frequencies, 1000, level=0.9)
    assert ewens == estimate_uniqueness(description.frequencies, 1000, method="ewens", level=0.9)
    assert zayatz.method == "zayatz"
    text = printed(description)
    for estimate in description.estimates:
        assert f"({estimate.low:.4f} to {estimate.high:.4f})" in text
        assert f"({estimate.uniques_low:,.0f} to {estimate.uniques_high:,.0f})" in text
    assert "a sample of 1,000 people" in " ".join(text.split())
    assert "90% confidence intervals, if the method's model holds" in " ".join(text.split())


def test_a_population_smaller_than_the_file_is_named(patients):
    with pytest.raises(InputError) as error:
        describe(patients, population_size=6)
    assert str(error.value) == (
        f"{patients}: population_size: the population is smaller than the sample; found 6; "
        "expected at least the 7 records of the sample"
    )


def test_people_with_several_records_are_not_unique_only_if_the_key_is_given(tmp_path):
    path = tmp_path / "stays.csv"
    path.write_text("Patient No;born;ward\n1;1950;A\n1;1950;B\n2;1961;A\n2;1961;A\n3;1961;A\n", encoding="utf-8")
    by_row = describe(path, columns=["born"])
    assert by_row.uniques == 0
    assert by_row.warnings == (
        "each row counts as another person, but values of column 'Patient No' repeat: use --person to count people",
    )
    by_person = describe(path, columns=["born"], person="Patient No")
    assert (by_person.uniques, by_person.warnings) == (1, ())
    path.write_text(path.read_text().replace("3;1961", "NA;1961"), encoding="utf-8")
    with pytest.raises(InputError, match=r"row 5, column 'Patient No': value missing; expected a value in every row"):
        describe(path, columns=["born"], person="Patient No")


SURVEY = "age,town,wt\n40,A,12.5\n40,A,7.5\n41,A,30\n40,B,2.25\n41,B,1\n"


def test_weights_say_how_many_people_the_records_stand_for(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY, encoding="utf-8")
    description = describe(path, weight="wt")
    assert any("--weight" in warning for warning in describe(path).warnings)
    assert description.population_size == 53
    assert [attribute.name for attribute in description.attributes] == ["age", "town"]
    uniqueness = description.uniqueness
    assert uniqueness.cells.people.tolist() == [20.0, 2.25, 30.0, 1.0]
    found = {estimate.method: estimate for estimate in description.estimates}
    assert found["benedetti-franconi"].p_unique_given_sample_unique == pytest.approx((1 / 2.25 + 1 / 30 + 1) / 3)
    text = " ".join(printed(description).split())
    assert "the file counts as a sample of 53 people" in text
    assert "│ 1 │ 3 │ 3 │ 60.00% │ │ 2 │ 1 │ 2 │ 40.00% │" in text
    assert (
        "the records represent 53 people; estimated group sizes in the population: smallest 1.0, median over records "
        "20.0" in text
    )
    assert "recommended: Independence; the model with independent attributes has a bias of z = " in text
    assert description.warnings == ()
    assert printed(description).count("Ben.-Franconi") == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wt", "sampling weights are not counts of records; found 'wt' (use --weight wt)"),
        ("grossed", "found '12.5'; expected counts of records; for sampling weights, use --weight"),
    ],
)
def test_weights_are_no_counts(tmp_path, name, said):
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY.replace("wt", name, 1), encoding="utf-8")
    with pytest.raises(InputError) as error:
        describe(path, count=name)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (SURVEY, {"weight": "wt", "population_size": 100}, "--weight: sampling weights exclude other numbers"),
        (
            SURVEY,
            {"weight": "wt", "columns": ["age", "wt"]},
            "the column of sampling weights is also an attribute; found 'wt'",
        ),
        (SURVEY.replace("30", "0.3"), {"weight": "wt"}, "row 3, column 'wt': invalid sampling weight; found 0.3"),
        (SURVEY.replace("30", '"3,5"'), {"weight": "wt"}, "row 3, column 'wt': not a number of 0 or more; found '3,5'"),
        (SURVEY, {"person": "age", "columns": ["age"]}, "--person: no column besides the person key; found 'age'"),
        (SURVEY, {"person": "pid"}, "--person: no such column; found 'pid'; expected one of "),
    ],
)
def test_weights_that_cannot_be_used_are_named(tmp_path, text, options, said):
    path = tmp_path / "survey.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        describe(path, **options)
    assert str(error.value).startswith(str(path))
    assert said in str(error.value)
