"""Tables read in batches: equal to the file read at once, whatever the size of the batches."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from tiers import examples

import reidsim
from reidsim.core import rows as rows_module
from reidsim.core import tables
from reidsim.core.errors import InputError
from reidsim.core.tables import (
    detect_encoding,
    read_coded_table,
    read_counted_table,
    read_distinct_rows,
    read_table,
)
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.file import releases_of

CELLS = st.sampled_from(["", "1", "1.0", " 7 ", "F", "München", 'a "b"', "x, y", "two\nlines", "NA", "3e5", "*"])
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=60)


@pytest.fixture
def small_batches(monkeypatch):
    """Batches of about ten rows; codes are unified every five cells."""
    monkeypatch.setattr(tables, "_CHUNK", 128)
    monkeypatch.setattr(tables, "_PENDING", 5)


def counts_of(frame):
    """Number of rows of each distinct row, counted by pandas."""
    return frame.groupby(list(frame.columns), sort=False, observed=True).size().to_dict()


@settings(examples(60, fast=5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]), st.sampled_from([".csv", ".csv.gz"]))
def test_rows_and_counts_are_those_of_the_whole_text(tmp_path, small_batches, rows, encoding, ending):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("a", "b", "c"), *rows])
    path = tmp_path / f"people{ending}"
    content = text.getvalue().encode(encoding)
    path.write_bytes(gzip.compress(content) if ending == ".csv.gz" else content)
    whole = pd.DataFrame([[cell.strip() for cell in row] for row in rows], columns=["a", "b", "c"], dtype="str")
    coded = read_coded_table(path, encoding=encoding)
    pd.testing.assert_frame_equal(read_table(path, encoding=encoding), whole)
    assert counts_of(coded) == counts_of(whole)
    for name in coded:
        if isinstance(coded[name].dtype, pd.CategoricalDtype):
            assert list(coded[name].cat.categories) == list(whole[name].unique())


@settings(examples(40, fast=5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.tuples(st.none() | st.sampled_from([1.0, 2.0, 2.5]), st.none() | CELLS)), min_size=1),
    st.booleans(),
)
def test_a_folder_of_parquet_files_is_read_as_one_table(tmp_path_factory, monkeypatch, files, categorical):
    monkeypatch.setattr(tables, "_PENDING", 3)
    folder = tmp_path_factory.mktemp("files") / "people.parquet"
    folder.mkdir()
    rows = [row for file in files for row in file]
    for number, file in enumerate(files):
        texts = pa.array([text for _, text in file], pa.string())
        columns = {"number": pa.array([value for value, _ in file], pa.float64()), "text": texts}
        if categorical:
            columns["text"] = texts.dictionary_encode()
        parquet.write_table(pa.table(columns), folder / f"{number:03}.parquet", row_group_size=4)
    if not rows:
        with pytest.raises(InputError, match="no rows"):
            read_table(folder)
        return
    whole = all(value is None or value == 1 or value == 2 for value, _ in rows)
    whole = whole and any(value is not None for value, _ in rows)
    numbers = ["" if value is None else f"{value:.0f}" if whole else f"{value:g}" for value, _ in rows]
    texts = [(text or "").strip() for _, text in rows]
    expected = pd.DataFrame({"number": numbers, "text": texts}, dtype="str")
    pd.testing.assert_frame_equal(read_table(folder), expected)
    assert counts_of(read_coded_table(folder)) == counts_of(expected)


@settings(examples(40, fast=5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.tuples(st.none() | st.sampled_from([1.0, 2.0, 2.5]), st.none() | CELLS, CELLS), max_size=20),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 9),
)
def test_distinct_rows_of_a_folder_restore_the_table(tmp_path_factory, monkeypatch, files, at_once):
    monkeypatch.setattr(rows_module, "_AT_ONCE", at_once)
    folder = tmp_path_factory.mktemp("files") / "people.parquet"
    folder.mkdir()
    for number, file in enumerate(files):
        columns = {
            "number": pa.array([value for value, _, _ in file], pa.float64()),
            "other": pa.array([text for _, _, text in file], pa.string()),
            "text": pa.array([text for _, text, _ in file], pa.string()),
        }
        parquet.write_table(pa.table(columns), folder / f"{number:03}.parquet", row_group_size=4)
    if not any(files):
        with pytest.raises(InputError, match="no rows"):
            read_distinct_rows(folder, ["text", "number"])
        return
    whole = read_table(folder)[["number", "text"]]
    distinct, number = read_distinct_rows(folder, ["text", "number"])
    restored = distinct.astype("str").iloc[number].reset_index(drop=True)
    pd.testing.assert_frame_equal(restored, whole)
    # Values that differ only in spaces are different in the file.
    raw = pd.DataFrame([(str(value), text) for file in files for value, text, _ in file])
    assert list(distinct.index) == list(raw.index[~raw.duplicated()])


@settings(examples(40, fast=5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.integers(1, 9), st.integers(0, 60))
def test_counted_rows_are_those_of_the_table(tmp_path_factory, monkeypatch, rows, at_once, compared):
    monkeypatch.setattr(rows_module, "_AT_ONCE", at_once)
    monkeypatch.setattr(rows_module, "_MOST_COMPARED", compared)
    path = tmp_path_factory.mktemp("files") / "people.parquet"
    columns = dict(zip("abc", map(pa.array, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), path, row_group_size=4)
    whole, found = read_table(path), read_counted_table(path)
    frame = found.frame.astype("str")
    assert len(found) == len(whole)
    totals = frame.assign(rows=found.counts.astype(int)).groupby(["a", "b", "c"])["rows"].sum()
    assert totals.to_dict() == counts_of(whole)
    # The index is the position of the first row of each.
    assert frame.to_numpy().tolist() == whole.loc[frame.index].to_numpy().tolist()
    assert frame.index.is_monotonic_increasing
    for name in whole:
        assert list(found.rows_by_value(name).items()) == [(v, (whole[name] == v).sum()) for v in whole[name].unique()]


def test_a_column_without_any_value_is_read_as_missing_values(tmp_path):
    parquet.write_table(pa.table({"age": [30, 30, 41], "note": pa.nulls(3)}), tmp_path / "people.parquet")
    whole = pd.DataFrame({"age": ["30", "30", "41"], "note": [""] * 3}, dtype="str")
    pd.testing.assert_frame_equal(read_table(tmp_path / "people.parquet"), whole)
    frame, number = read_distinct_rows(tmp_path / "people.parquet", ["age", "note"])
    pd.testing.assert_frame_equal(frame.astype("str").iloc[number].reset_index(drop=True), whole)


def test_an_error_names_the_first_row_with_a_value(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"age": ["30"] * 50 + ["x"] + ["30"] * 9, "sex": "F"}).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "ages.csv").write_text("30;*\n31;*\n")
    scenario = {
        "release": {"path": "people.csv"},
        "attributes": {
            "age": {"hierarchy": {"rule": "table", "file": "ages.csv"}},
            "sex": {"hierarchy": {"rule": "suppress"}},
        },
        "economics": {"benefit": 1200, "loss": 300, "cost": 4},
        "adversary": {"risk": "prosecutor"},
    }
    with pytest.raises(InputError, match=r"row 51, column .age.: .*found .x."):
        reidsim.Scenario.load(scenario).run()


def test_a_number_column_with_text_far_below_is_text_throughout(tmp_path):
    path, values = tmp_path / "people.csv", ["1.0", "02"] * 250_000 + ["unknown", "1.0"]
    path.write_text("age\n" + "\n".join(values) + "\n")
    frame = read_coded_table(path)
    assert frame["age"].value_counts(sort=False).to_dict() == {"1.0": 250_001, "02": 250_000, "unknown": 1}
    assert list(frame["age"].iloc[[-3, -2, -1]]) == ["02", "unknown", "1.0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a,b\n" + b"1,2\n" * 99 + b"1,2,3\n" + b"1,2\n" * 99, r"row 100: .*columns; found 3; expected 2 columns"),
        (b"a,b\n" + b"1,2\n" * 99 + b'1,"2\n', r"row 100: a quotation mark is not closed"),
        (b'a,"b\n' + b"1,2\n" * 9, r"first row"),
        (b"a,b\n" + b"1,2\n" * 99 + b"\xff,2\n", r"line 101: not a text file in UTF-8; found 'byte 0xff'"),
        (b"a,b\n" + b"1,2\n" * 99 + b"1,\0\n", r"not a text file; found 'a zero byte'"),
        (b"a,b\n" + b"1,2\n" * 99 + b"1," + b"x" * 500 + b"\n", r"a row is longer than a megabyte"),
    ],
)
def test_an_error_in_a_late_batch_names_its_row(tmp_path, small_batches, text, message):
    (tmp_path / "people.csv").write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "people.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "latin-1", "utf-16"])
def test_an_encoding_is_detected_by_the_last_character(tmp_path, small_batches, encoding):
    last = {"utf-8": "ë", "cp1252": "ë", "latin-1": "\x81ë", "utf-16": "ë"}[encoding]
    (tmp_path / "people.csv").write_bytes(("name\n" + "Ada\n" * 200 + last).encode(encoding))
    assert detect_encoding(tmp_path / "people.csv") == encoding


@pytest.mark.deep
def test_a_folder_of_parquet_files_is_drafted_run_and_shared_like_one_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = pd.DataFrame({"age": [str(30 + n % 40) for n in range(400)], "sex": ["F", "M"] * 200})
    people["score"] = np.random.default_rng(5).integers(0, 3, 400) + 0.5
    people.loc[250:, "score"] = 2e15
    people.to_parquet("one.parquet", index=False, row_group_size=70)
    folder = tmp_path / "people.parquet"
    folder.mkdir()
    people[:150].to_parquet(folder / "first.parquet", index=False)
    people[150:250].to_parquet(folder / "second.parquet", index=False)
    people[250:].to_parquet(folder / "second2.parquet", index=False)
    released, audits = [], []
    for data in ("one.parquet", "people.parquet"):
        reidsim.new(data, folder=f"draft of {data}").run().save(f"results of {data}")
        kept = {"keep": ["score"], "unknown_to_outsiders": ["score"]}
        table = reidsim.share(f"results of {data}", "no-attack", path=f"{data}.csv", accept_risk=True, **kept)
        released.append(Path(f"{data}.csv").read_bytes())
        audits.append({key: table.attrs["sidecar"][key] for key in ("records", "risk", "audit", "classes")})
        # The report counts every record by itself, and refuses a file with another audit.
        assert releases_of(open_results(Path(f"results of {data}")), Path(f"{data}.csv"))
    assert released[0] == released[1]
    assert audits[0] == audits[1]
    people[:150].to_parquet(folder / "third.parquet", index=False)
    with pytest.raises(InputError, match="differs from the file of the run"):
        reidsim.share("results of people.parquet", "no-attack", path="again.csv", accept_risk=True)


@pytest.mark.parametrize("read", [read_coded_table, lambda path: read_distinct_rows(path, ["age"])])
def test_a_column_of_another_type_in_a_later_file_is_named(tmp_path, read):
    folder = tmp_path / "people.parquet"
    folder.mkdir()
    parquet.write_table(pa.table({"age": [30], "sex": ["F"]}), folder / "a.parquet")
    parquet.write_table(pa.table({"age": ["030"], "sex": ["F"]}), folder / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: age: another type.*found 'string'; expected int64"):
        list(read(folder))
    parquet.write_table(pa.table({"age": [30.5], "sex": ["F"]}), folder / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: column 'age' \(double, not int64\): cannot be read"):
        list(read(folder))
    parquet.write_table(pa.table({"age": pa.array([41], pa.int32()), "sex": ["F"]}), folder / "b.parquet")
    assert read(folder) is not None


@pytest.mark.parametrize("later", [{"age": [40], "zip": [3]}, {"zip": [3]}])
@pytest.mark.parametrize("read", [read_coded_table, read_counted_table, lambda path: read_distinct_rows(path, ["age"])])
def test_files_of_a_folder_have_the_same_columns(tmp_path, later, read):
    folder = tmp_path / "people.parquet"
    folder.mkdir()
    parquet.write_table(pa.table({"age": [30], "sex": [1]}), folder / "a.parquet")
    parquet.write_table(pa.table(later), folder / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: column '(age|sex)': not in all files; expected equal columns"):
        read(folder)
