"""`reidsim.Anonymizer`: a release as a transformer of scikit-learn, and tables of other libraries."""

import importlib
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

import reidsim
from reidsim.core.tables import library_of, native_table, pandas_table, text_table
from reidsim.reports.shared.file import csv_bytes

RNG = np.random.default_rng(5)
PATIENTS = pd.DataFrame(
    {
        "visits": RNG.integers(0, 3, 90),
        "age": [*RNG.integers(20, 26, 70), *RNG.integers(26, 60, 20)],
        "name": [f"Ada {number}" for number in range(90)],
        "sex": RNG.choice(["F", "M"], 90),
    },
    index=np.arange(90) + 7,
)
RULES = {"age": reidsim.intervals(3, 6), "sex": "suppress"}
AMOUNTS = {"benefit": 100, "loss": 300, "cost": 20}
KEPT = {"keep": ["visits"], "unknown_to_outsiders": ["visits"]}
# The policy withholds some records of PATIENTS.
POLICY = "full-domain-no-attack"
LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def anonymizer(policy=POLICY, **changes):
    return reidsim.Anonymizer(policy, **{"hierarchies": RULES, **KEPT, **AMOUNTS, **changes})


@pytest.fixture(scope="module")
def fitted():
    return anonymizer().fit(PATIENTS)


@pytest.fixture(scope="module")
def released(fitted):
    return fitted.transform(PATIENTS)


# The release.


def in_order(table):
    """Return the rows sorted, as in a released file."""
    return table.sort_values(list(table.columns)).reset_index(drop=True)


@pytest.mark.deep
def test_released_records_are_those_of_share(fitted, released):
    scenario = reidsim.Scenario.from_frames(PATIENTS, hierarchies=RULES, economics=AMOUNTS, unit="table")
    shared = scenario.with_(policies=[POLICY]).run().share(**KEPT)
    present = released.dropna(how="all")
    assert 0 < len(present) < len(PATIENTS)
    # Kept columns of withheld records are missing, so that whole numbers become floats.
    pd.testing.assert_frame_equal(in_order(text_table(present, "released")), shared, check_dtype=False)
    assert fitted.sidecar_["audit"] == shared.attrs["sidecar"]["audit"]
    pd.testing.assert_frame_equal(anonymizer().fit_transform(PATIENTS), released)


def test_withheld_and_unknown_records_keep_their_row_without_values(fitted, released):
    assert released.index.equals(PATIENTS.index)
    assert list(released.columns) == ["visits", "age", "sex"] == list(fitted.get_feature_names_out())
    assert (released.isna().all(axis=1) == released.isna().any(axis=1)).all()
    new = PATIENTS.iloc[:2].assign(age=[PATIENTS["age"].iloc[0], 99])
    pd.testing.assert_series_equal(fitted.transform(new).iloc[0], released.iloc[0], check_names=False)
    assert fitted.transform(new).iloc[1].isna().all()


@pytest.mark.parametrize("other", ["15.03.1957", pd.Timestamp("1957-03-15 13:00"), pd.NaT])
def test_a_date_in_another_form_withholds_only_its_own_record(other):
    born = pd.Series(pd.to_datetime(["1957-03-15", "1962-07-01"] * 20), dtype=object)
    fitted = reidsim.Anonymizer("no-protection", hierarchies="suppress", accept_risk=True, **AMOUNTS)
    fitted.fit(pd.DataFrame({"born": born.astype("datetime64[ns]"), "sex": "F"}))
    born[1] = other
    for dates in (born, born.infer_objects()):
        released = fitted.transform(pd.DataFrame({"born": dates, "sex": "F"}).head(4))
        assert released["born"].fillna("").tolist() == ["1957-03-15", "", "1957-03-15", "1962-07-01"]


def test_transform_is_apply_of_the_rulebook(fitted, tmp_path):
    (tmp_path / "rules.csv").write_bytes(csv_bytes(fitted.rulebook_))
    new = PATIENTS.sample(40, random_state=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    applied = reidsim.apply(tmp_path / "rules.csv", tmp_path / "new.csv", **KEPT)
    present = fitted.transform(new).dropna(how="all")
    pd.testing.assert_frame_equal(in_order(text_table(present, "released")), applied, check_dtype=False)


def test_without_hierarchies_the_scenario_is_drafted():
    drafted = reidsim.Anonymizer("no-protection", accept_risk=True, **KEPT).fit(PATIENTS)
    assert list(drafted.rulebook_.columns[:2]) == ["age", "sex"]
    own = reidsim.new(PATIENTS, drop=["visits"]).scenario.with_(policies=["no-protection"], publisher__unit="table")
    assert drafted.sidecar_["audit"] == own.run().share(accept_risk=True, **KEPT).attrs["sidecar"]["audit"]


def test_amounts_seed_and_overrides_are_those_of_the_scenario():
    own = anonymizer(gain=40, seed=3, overrides={"economics.loss": 7, "adversary.direction": "both"})
    content = own._scenario(PATIENTS).content
    assert content["economics"] == {"benefit": 100, "loss": 7, "gain": 40, "cost": 20}
    assert (content["seed"], content["adversary"]["direction"]) == (3, "both")
    assert content["publisher"] == {"policies": [POLICY], "unit": "table"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"quasi_identifiers": ["age"]}, "quasi_identifiers: given twice"),
        ({"keep": ["visits", "name"]}, "identify most people"),
        ({"keep": ["visits", "age"]}, "the column is a quasi-identifier"),
        ({"keep": ["visits", "weight"]}, "keep: no such column; found 'weight'"),
        ({"keep": []}, "unknown_to_outsiders: the column is not kept; .*; expected a kept column"),
        ({"policy": "no-protection"}, r"raise max_risk.*with accept_risk"),
        ({"policy": "none"}, "policies"),
    ],
)
def test_mistakes_are_input_errors(changes, expected):
    with pytest.raises(reidsim.InputError, match=expected):
        anonymizer(**changes).fit(PATIENTS)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (pl.LazyFrame({"age": [30]}), "not a table in memory; found 'LazyFrame'"),
        (pd.DataFrame([[1, 2]], columns=["age", "age"]), "X: column named twice; found 'age'"),
        (PATIENTS.iloc[:0], "no rows"),
    ],
)
def test_tables_that_cannot_be_used_are_input_errors(table, expected):
    with pytest.raises(reidsim.InputError, match=expected):
        anonymizer().fit(table)


def test_equal_records_with_different_releases_have_no_rulebook():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": rng.integers(20, 80, 200), "sex": rng.choice(["F", "M"], 200)})
    people["zip"] = rng.choice(["37201", "37203", "37210", "37115"], 200)
    with pytest.raises(reidsim.InputError, match="no rulebook: two rows have the same values"):
        reidsim.Anonymizer(quasi_identifiers=["age"], unit="record", accept_risk=True).fit(people)


# scikit-learn.


def test_a_pipeline_learns_from_released_records(fitted):
    ill = (PATIENTS["age"] > 23).to_numpy()
    encoder = OneHotEncoder(handle_unknown="ignore")
    pipeline = make_pipeline(clone(fitted), encoder, LogisticRegression()).fit(PATIENTS, ill)
    by_hand = encoder.fit_transform(fitted.transform(PATIENTS))
    assert (pipeline.predict(PATIENTS) == LogisticRegression().fit(by_hand, ill).predict(by_hand)).all()
    pipeline.set_params(anonymizer__policy="suppress-all", anonymizer__keep=(), anonymizer__unknown_to_outsiders=())
    assert len(set(pipeline.fit(PATIENTS, ill).predict(PATIENTS))) == 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_are_returned_as_they_came(library, fitted, released):
    table = LIBRARIES[library](PATIENTS)
    own = clone(fitted)
    made = own.fit_transform(table)
    assert type(made) is type(table)
    pd.testing.assert_frame_equal(own.rulebook_, fitted.rulebook_)
    plain = released.reset_index(drop=True)
    pd.testing.assert_frame_equal(pandas_table(made).reset_index(drop=True), plain, check_dtype=False)
    as_pandas = own.set_output(transform="pandas").transform(table)
    pd.testing.assert_frame_equal(as_pandas.reset_index(drop=True), plain)
    assert isinstance(own.set_output(transform="polars").transform(table), pl.DataFrame)


def test_names_may_have_surrounding_spaces(released):
    made = anonymizer().fit_transform(PATIENTS.rename(columns={"age": " age", "visits": "visits "}))
    assert list(made.columns) == ["visits ", " age", "sex"]
    pd.testing.assert_frame_equal(made.rename(columns=str.strip), released)


def test_arrays_have_the_names_of_scikit_learn(released):
    cells = PATIENTS.to_numpy(dtype=object)
    own = anonymizer(hierarchies={"x1": RULES["age"], "x3": "suppress"}, keep=["x0"], unknown_to_outsiders=["x0"])
    made = own.fit_transform(cells)
    assert list(own.get_feature_names_out()) == ["x0", "x1", "x3"]
    assert made.dtype == object
    assert made.tolist() == released.astype(object).where(released.notna(), None).to_numpy().tolist()
    assert own.set_output(transform="pandas").transform(cells).shape == made.shape


# Checks of scikit-learn that compare cells as numbers; the cells are text. `Coded` passes them.
COMPARES_NUMBERS = dict.fromkeys(
    (
        "check_estimators_pickle",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_pipeline_consistency",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
    ),
    "the check compares numbers, and released values are text",
)


# Checks that pass with `hierarchies`, and fail without: no draft finds quasi-identifiers among columns like x0 and x1.
HAS_NO_QUASI_IDENTIFIER = dict.fromkeys(
    (
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
    ),
    "no column looks like a quasi-identifier",
)


class Coded(reidsim.Anonymizer):
    """An anonymizer whose released values are numbers: the bytes of their text."""

    def transform(self, X):  # noqa: N803 - scikit-learn's name
        cells = np.asarray(super().transform(X), dtype=object)
        numbers = [int.from_bytes(str(cell).encode()[:6]) for cell in cells.ravel()]
        return np.array(numbers, dtype=np.float64).reshape(cells.shape)


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (reidsim.Anonymizer("basic", hierarchies="suppress", accept_risk=True), COMPARES_NUMBERS),
        (Coded("basic", hierarchies="suppress", accept_risk=True), {}),
        (reidsim.Anonymizer(), COMPARES_NUMBERS | HAS_NO_QUASI_IDENTIFIER),
    ],
)
def test_the_checks_of_scikit_learn_pass(own, expected):
    outcomes = check_estimator(own, expected_failed_checks=expected, on_skip=None)
    assert {each["check_name"] for each in outcomes if each["status"] == "xfail"} == set(expected)


def test_without_scikit_learn_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "reidsim.reports.anonymizer")
    with pytest.raises(ImportError, match=r"needs scikit-learn.*pip install 'reidsim\[sklearn\]'"):
        importlib.import_module("reidsim.reports.anonymizer")
    # Without scikit-learn, `from reidsim import *` works.
    assert "Anonymizer" in set(dir(reidsim)) - set(reidsim.__all__)


# Tables of other libraries.


@pytest.mark.deep
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_scenario_of_other_tables_is_that_of_pandas(library):
    of = LIBRARIES[library]
    levels = pd.DataFrame([[str(age), f"{age // 10 * 10}s", "*"] for age in range(20, 60)])
    rules = {"age": levels, "sex": "suppress"}
    expected = reidsim.Scenario.from_frames(
        PATIENTS, population=PATIENTS[["age", "sex"]], hierarchies=rules, economics=AMOUNTS
    )
    rules = {"age": of(levels.rename(columns=str)), "sex": "suppress"}
    scenario = reidsim.Scenario.from_frames(
        of(PATIENTS), population=of(PATIENTS[["age", "sex"]]), hierarchies=rules, economics=AMOUNTS
    )
    assert scenario == expected
    shared = scenario.run().share("basic", accept_risk=True)
    assert library_of(shared) == library
    assert pandas_table(shared).equals(expected.run().share("basic", accept_risk=True))
    assert library_of(reidsim.new(of(PATIENTS)).run().share("basic", accept_risk=True)) == library
    assert reidsim.new(of(PATIENTS)).text == reidsim.new(PATIENTS).text


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_cells_of_other_tables_read_as_those_of_pandas(library):
    arrow = pa.table(
        {
            "whole": pa.array([2**62 + 1, None, 3]),
            "real": [1.5, None, float("nan")],
            "text": ["a ", None, ""],
            "is": [True, None, False],
            "day": pa.array([0, None, 400], pa.date32()),
            "kind": pa.array(["x", None, "y"]).dictionary_encode(),
        }
    )
    table = arrow if library == "pyarrow" else pl.from_arrow(arrow)
    expected = [[str(2**62 + 1), "", "3"], ["1.5", "", ""], ["a", "", ""], ["True", "", "False"]]
    expected += [["1970-01-01", "", "1971-02-05"], ["x", "", "y"]]
    assert [list(column) for _, column in text_table(pandas_table(table), "table").items()] == expected
    assert pandas_table(native_table(pandas_table(table), library)).equals(pandas_table(table))
    seen = pd.DataFrame(
        {"attacked": [1, 1, 0, 0, 1], "success": [1.0, 0.5, 0.1, 0.2, 0.1], "gain": 100.0, "cost": 20.0}
    )
    assert reidsim.fit_precision(LIBRARIES[library](seen)) == reidsim.fit_precision(seen)
