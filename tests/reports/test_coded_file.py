"""Files of people as codes: equal values, missing values and counts."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.reports.description import read_coded_file

PEOPLE = {"sex": ["F", "M", "F"], "age": [30, 41, 30], "people": [2, 0, 5]}


@pytest.fixture
def write(tmp_path):
    """Return a function that writes text or a table and returns the path."""

    def written(content, name="people", metadata=None):
        if isinstance(content, str):
            path = tmp_path / f"{name}.csv"
            path.write_text(content, encoding="utf-8")
            return path
        path = tmp_path / f"{name}.parquet"
        table = content if isinstance(content, pa.Table) else pa.table(content)
        if metadata is not None:
            text = metadata if isinstance(metadata, bytes) else json.dumps(metadata)
            table = table.replace_schema_metadata({b"reidsim": text})
        parquet.write_table(table, path)
        return path

    return written


def same(column):
    """Return, for each pair of rows, whether their codes are equal."""
    return (column.to_numpy()[:, None] == column.to_numpy()[None, :]).tolist()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('a;"b, c, d"\n1;2\n', ["a", "b, c, d"]),
        ("a, b;c\n1;2\n", ["a, b", "c"]),
        ("a;b\n1,5;2,5\n", ["a", "b"]),
        ('"a;b;c",d\n1,2\n', ["a;b;c", "d"]),
        ("\n\na;b\n1;2\n", ["a", "b"]),
    ],
)
def test_other_delimiters_inside_names_and_values_do_not_mislead(write, text, names):
    assert list(read_coded_file(write(text)).codes) == names


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (pa.array(["x", None, "", " x", "  "]), [1, 2, 4]),
        (pa.array(["x", None, "", " x", "  "]).dictionary_encode(), [1, 2, 4]),
        (pa.array(["x", None, "", " x", "  "], pa.large_string()), [1, 2, 4]),
        (pa.array([1.5, None, float("nan"), 1.5, 2.0]), [1, 2]),
        (pa.array([7, None, 8, 7, 7]), [1]),
        (pa.array([True, None, False, True, True]), [1]),
        (pa.array([None] * 5, pa.null()), [0, 1, 2, 3, 4]),
        (pa.array(["", None, "", " ", "  "]), [0, 1, 2, 3, 4]),
        (pa.array(["2020-01-01", None, "2020-01-02", "2020-01-01", None]).cast(pa.date32()), [1, 4]),
    ],
    ids=["text", "dictionary", "large text", "floats", "integers", "booleans", "nulls", "blanks", "dates"],
)
def test_values_of_any_type_are_coded(write, values, missing):
    codes = read_coded_file(write({"a": values})).codes["a"]
    assert np.flatnonzero(codes == 0).tolist() == missing
    if 0 not in missing:
        assert codes[0] == codes[3]
    assert codes.dtype == np.int32


@given(rows=st.lists(st.tuples(*[st.sampled_from(["", "a", "b b", "ü", '"', "x,y;z"])] * 2), min_size=2, max_size=9))
@examples(30)
def test_text_and_parquet_of_the_same_people_have_the_same_codes(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    frame = pd.DataFrame(rows, columns=["p", "q"])
    frame.to_csv(folder / "people.csv", index=False)
    frame.to_parquet(folder / "people.parquet", index=False)
    text, table = (read_coded_file(folder / name).codes for name in ("people.csv", "people.parquet"))
    for name in "pq":
        ours = text[name]
        assert same(ours) == same(table[name])
        assert same(ours) == [[a == b for b in frame[name]] for a in frame[name]]
        assert (ours == 0).tolist() == (frame[name] == "").tolist()


def test_a_file_made_by_reidsim_says_what_it_holds(write):
    metadata = {"kind": "cells", "title": "Small town", "source": "assumed", "count": "people", "attributes": ["age"]}
    file = read_coded_file(write(PEOPLE, metadata=metadata))
    assert [file.recorded[key] for key in ("kind", "title", "source")] == ["cells", "Small town", "assumed"]
    assert list(file.codes) == ["age"]
    assert file.counts.tolist() == [2, 0, 5]


@pytest.mark.parametrize(
    "values",
    [
        ["2", " 0", "+5"],
        [2, 0, 5],
        [2.0, 0.0, 5.0],
        pa.array([2, 0, 5], pa.uint8()),
        pa.array(["2", "0", "5"]).dictionary_encode(),
    ],
)
def test_counts_are_whole_numbers(write, values):
    file = read_coded_file(write({"a": ["x", "y", "z"], "n": values}), count="n")
    assert file.counts.tolist() == [2, 0, 5]
    assert file.counts.dtype == np.int64


@pytest.mark.parametrize(
    ("values", "row", "found"),
    [
        ([1, -2, 3], 2, "'-2'"),
        ([1.0, 2.5, 3.0], 2, "'2.5'"),
        ([1, 2, 2**53], 3, "'9007199254740992'"),
    ],
)
def test_what_is_no_count_is_named(write, values, row, found):
    path = write({"a": ["x", "y", "z"], "n": values})
    with pytest.raises(InputError) as error:
        read_coded_file(path, count="n")
    message = f"{path}: row {row}, column 'n': not a whole number of 0 or more; found {found}; expected counts"
    assert str(error.value).startswith(message)


def test_columns_that_are_not_described_may_hold_lists(write):
    assert list(read_coded_file(write({"a": [1, 2], "b": [[1], [2]]}), columns=["a"]).codes) == ["a"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b\n", {}, "the file has no rows"),
        ("", {}, "the file is empty"),
        ("a,a\n1,2\n", {}, "column named twice; found 'a'"),
        ("a,b\n1,2\n3\n", {}, "row 2: row with the wrong number of columns"),
        ('a,b\n"' + "x" * 200_000, {}, "row 1: row with the wrong number of columns"),
        ({"a": pa.array([], pa.string())}, {}, "the file has no rows"),
        ({"a": [[1], [2]]}, {}, "column 'a': the column holds nested values, such as lists; found 'list<"),
        (PEOPLE, {"columns": ["sx"]}, "column 'sx': column missing; expected one of sex"),
        (PEOPLE, {"count": "peple"}, "column 'peple': column missing"),
        (PEOPLE, {"columns": ["sex", "people"], "count": "people"}, "the column of counts is also an attribute"),
        ({"a": [1, 2], "n": [0, 0]}, {"count": "n"}, "column 'n': all counts are 0"),
    ],
)
def test_files_that_cannot_be_used_are_named(write, content, options, message):
    path = write(content)
    with pytest.raises(InputError) as error:
        read_coded_file(path, **options)
    assert str(error.value).startswith(f"{path}: {message}")
