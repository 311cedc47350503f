"""Statistics of releases compared with the original records: against scipy, statsmodels and scikit-learn."""

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats.contingency import association
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.stats.proportion import proportion_confint
from tiers import examples

import reidsim
from reidsim.audit.release import ColumnReader
from reidsim.core.errors import InputError
from reidsim.core.numerics import random_stream
from reidsim.figures import runs
from reidsim.kinds.tables.data_utility import DataUtility, UtilitySection

JOBS = [["baker", "craft", "*"], ["cook", "craft", "*"], ["doctor", "care", "*"], ["nurse", "care", "*"]]
AGES = [[str(age), f"{age // 10 * 10}-{age // 10 * 10 + 9}", "*"] for age in range(20, 80)]
HIERARCHIES = {"age": AGES, "job": JOBS}
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 80, n), rng.choice(["F", "M"], n)
    job = rng.choice(["baker", "cook", "doctor", "nurse"], n)
    pay = (1000 + 20 * age + 300 * (sex == "M") + 200 * (job == "doctor") + rng.normal(0, 200, n)).round(1)
    ill = np.where(rng.random(n) < 1 / (1 + np.exp((50 - age) / 10)), "yes", "no")
    return pd.DataFrame({"age": age, "sex": sex, "job": job, "pay": pay, "ill": ill})


def noisy(table, seed=2):
    """Return a perturbed copy of whole columns of values."""
    rng = np.random.default_rng(seed)
    return table.assign(
        age=table["age"] + rng.integers(-5, 6, len(table)),
        job=np.where(rng.random(len(table)) < 0.2, "cook", table["job"]),
        pay=table["pay"] * rng.normal(1, 0.1, len(table)),
    )


def compared(original, released, hierarchies=None, **section):
    table = DataUtility(original.astype(str), UtilitySection(**section), hierarchies).compare(released.astype(str))
    return table.set_index(["measure", "column"])


def test_moments_and_correlations_are_those_of_pandas_and_scipy():
    original = people()
    released = noisy(original)
    found = compared(original, released)
    for source, table in (("original", original), ("released", released)):
        for name in ("age", "pay"):
            np.testing.assert_allclose(found.loc[("mean", name), source], table[name].mean(), **EXACT)
            np.testing.assert_allclose(found.loc[("variance", name), source], table[name].var(), **EXACT)
        np.testing.assert_allclose(
            found.loc[("pearson", "age, pay"), source], np.corrcoef(table["age"], table["pay"])[0, 1], **EXACT
        )
        for pair in itertools.combinations(("sex", "job", "ill"), 2):
            counts = pd.crosstab(table[pair[0]], table[pair[1]]).to_numpy()
            expected = association(counts, method="cramer")
            np.testing.assert_allclose(found.loc[("cramers_v", ", ".join(pair)), source], expected, **EXACT)
        for category, name in itertools.product(("sex", "job", "ill"), ("age", "pay")):
            one_way = smf.ols(f"{name} ~ C({category})", table).fit().rsquared
            pair = ", ".join(sorted((category, name), key=list(table).index))
            np.testing.assert_allclose(found.loc[("correlation_ratio", pair), source] ** 2, one_way, **EXACT)
    change = released["pay"].mean() / original["pay"].mean() - 1
    np.testing.assert_allclose(found.loc[("mean", "pay"), "change"], change, rtol=1e-9)


@pytest.mark.parametrize(
    ("formula", "fit"),
    [
        ("pay ~ age + sex + job", smf.ols),
        ("pay ~ age * sex + C(job)", smf.ols),
        ("pay ~ sex * job + sex * age", smf.ols),
        ("pay ~ sex * job * age", smf.ols),
        ("ill ~ age + sex + sex:age", lambda formula, table: smf.glm(formula, table, family=sm.families.Binomial())),
    ],
)
def test_coefficients_and_intervals_are_those_of_statsmodels(formula, fit):
    original = people()
    released = noisy(original)
    found = compared(original, released, regression=formula).loc["coefficient"]
    intervals = {}
    for source, table in (("original", original), ("released", released)):
        model = fit(formula, table.assign(ill=(table["ill"] == "yes").astype(float))).fit()
        # The order of the factors of an interaction in the names is that of the formula in both.
        assert set(found.index) == set(model.params.index)
        ends = model.conf_int().loc[found.index]
        np.testing.assert_allclose(found[source], model.params.loc[found.index], rtol=1e-8)
        np.testing.assert_allclose(found[[f"{source}_lower", f"{source}_upper"]], ends, rtol=1e-8)
        intervals[source] = ends.to_numpy()
    for place, overlap in enumerate(found["overlap"]):
        (low, high), (own_low, own_high) = intervals["original"][place], intervals["released"][place]
        common = max(min(high, own_high) - max(low, own_low), 0)
        assert overlap == pytest.approx((common / (high - low) + common / (own_high - own_low)) / 2, rel=1e-6)


def test_generalized_cells_count_as_the_average_of_their_values():
    original = people()
    released = original.astype(str).assign(
        age=[f"{age // 10 * 10}-{age // 10 * 10 + 9}" if age < 60 else f"[60, {80})" for age in original["age"]],
        job=original["job"].map({"baker": "craft", "cook": "{baker, cook}", "doctor": "doctor", "nurse": "nurse"}),
    )
    found = compared(original, released, HIERARCHIES)
    middle = np.where(original["age"] < 60, original["age"] // 10 * 10 + 4.5, 69.5)
    np.testing.assert_allclose(found.loc[("mean", "age"), "released"], middle.mean(), **EXACT)
    np.testing.assert_allclose(found.loc[("variance", "age"), "released"], middle.var(ddof=1), **EXACT)
    counts = pd.crosstab(original["sex"], original["job"])
    counts[["baker", "cook"]] = np.repeat(counts[["baker", "cook"]].mean(axis=1).to_numpy()[:, None], 2, axis=1)
    chi2 = ((counts - np.outer(counts.sum(axis=1), counts.sum()) / len(original)) ** 2) / (
        np.outer(counts.sum(axis=1), counts.sum()) / len(original)
    )
    expected = np.sqrt(chi2.to_numpy().sum() / len(original))
    np.testing.assert_allclose(found.loc[("cramers_v", "sex, job"), "released"], expected, **EXACT)
    # A craft worker counts half as a baker, half as a cook.
    halves = released["job"].isin(["craft", "{baker, cook}"]).to_numpy()
    shares = {name: (released["job"] == name).to_numpy(float) for name in ("doctor", "nurse")}
    shares |= dict.fromkeys(("baker", "cook"), halves / 2)
    pay, between = original["pay"].to_numpy(), 0.0
    for share in shares.values():
        between += share.sum() * (np.average(pay, weights=share) - pay.mean()) ** 2
    expected = np.sqrt(between / ((pay - pay.mean()) ** 2).sum())
    np.testing.assert_allclose(found.loc[("correlation_ratio", "job, pay"), "released"], expected, **EXACT)


@pytest.mark.parametrize(
    ("cell", "middle"),
    [
        ("20-29", 24.5), ("[20, 30)", 24.5), ("[20, 30[", 24.5), ("(19, 29]", 24.5), ("[20, 29]", 24.5),
        ("2*", 24.5), ("twenties", 24.5), ("{20, 25}", 22.5), ("70+", 74.5), (">=70", 74.5), (">69", 74.5),
        ("<30", 24.5), ("90+", 90.0), ("37", 37.0), ("37.25", 37.25), ("95", 95.0), ("*", np.nan), ("[0, 200]", np.nan),
        ("", np.nan), ("young", np.nan),
    ],
)  # fmt: skip
def test_middle_of_a_cell_of_whole_numbers(cell, middle):
    ages = [str(age) for age in range(20, 80)]
    reader = ColumnReader(ages, [[age, "twenties" if age < "30" else "older"] for age in ages])
    np.testing.assert_equal(reader.middle(cell), middle)


def test_middle_of_a_cell_of_decimal_numbers():
    reader = ColumnReader(["0.5", "1", "2.5", "4"])
    assert reader.middle("[0.5, 1.5)") == 1.0
    assert reader.middle("(1, 3]") == 2.0


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["yes", "no"]), st.integers(20, 79), st.sampled_from([row[0] for row in JOBS]),
            st.sampled_from(["same", "band", "group", "*"]),
        ),
        min_size=2, max_size=30,
    )
)  # fmt: skip
def test_any_release_has_finite_or_missing_statistics(rows):
    original = pd.DataFrame([row[:3] for row in rows], columns=["ill", "age", "job"]).astype(str)
    original.loc[:1, "ill"] = ["yes", "no"]
    how = np.array([row[3] for row in rows])
    released = original.copy()
    released.loc[how == "band", "age"] = original["age"].str[0] + "0-" + original["age"].str[0] + "9"
    released.loc[how == "group", "job"] = original["job"].map({row[0]: row[1] for row in JOBS})
    released.loc[how == "*"] = "*"
    section = UtilitySection(regression="ill ~ age * job", classifier="ill")
    found = DataUtility(original, section, HIERARCHIES).compare(released)
    assert not np.isinf(found.select_dtypes("number").to_numpy()).any()
    assert found["overlap"].dropna().between(0, 1 + 1e-12).all()
    correlations = found["measure"].isin(["cramers_v", "correlation_ratio", "accuracy", "majority"])
    assert found.loc[correlations, "released"].dropna().between(0, 1 + 1e-12).all()


def test_coefficients_that_the_release_does_not_determine_are_missing():
    original = people()
    group = original["job"].map({"baker": "craft", "cook": "craft", "doctor": "care", "nurse": "care"})
    found = compared(original, original.assign(job=group), HIERARCHIES, regression="pay ~ age + job")
    own = found.loc["coefficient"]
    assert own.loc[["Intercept", "job[T.cook]", "job[T.doctor]", "job[T.nurse]"], "released"].isna().all()
    assert (own.loc[["job[T.cook]", "job[T.doctor]", "job[T.nurse]"], "overlap"] == 0).all()
    # The coefficient of the age is determined, and is that of a regression on the groups.
    model = smf.ols("pay ~ age + group", original.assign(group=group)).fit()
    ends = model.conf_int().loc["age"].tolist()
    np.testing.assert_allclose(
        own.loc["age", ["released", "released_lower", "released_upper"]].astype(float),
        [model.params["age"], *ends],
        rtol=1e-9,
    )


def test_a_column_that_is_suppressed_throughout_is_left_out_of_the_regression():
    original = people()
    found = compared(
        original, original.assign(job="*", pay=original["pay"] + 1), HIERARCHIES, regression="pay ~ age + job"
    )
    own, model = found.loc["coefficient"], smf.ols("pay ~ age", original.assign(pay=original["pay"] + 1)).fit()
    np.testing.assert_allclose(own.loc[["Intercept", "age"], "released"].astype(float), model.params, rtol=1e-9)
    assert own.loc["job[T.cook]":, "released"].isna().all()


def test_classifier_trains_on_released_and_is_tested_on_held_out_original_records():
    original = people()
    released = noisy(original).drop(index=range(0, 400, 7))
    table = DataUtility(original.astype(str), UtilitySection(classifier="ill"), seed=5).compare(released.astype(str))
    found = table.set_index("measure").loc["accuracy"]
    held_out = np.sort(random_stream(5, "data-utility").permutation(400)[:120])

    def features(records):
        indicators = [(records["sex"] == each) for each in "FM"] + [(records["job"] == each) for each, *_ in JOBS]
        return np.column_stack([records["age"], *indicators, records["pay"]]).astype(float)

    test = original.loc[held_out]
    for source, records in (("original", original), ("released", released)):
        train = records[~records.index.isin(held_out)]
        model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))
        right = int((model.fit(features(train), train["ill"]).predict(features(test)) == test["ill"]).sum())
        assert found[source] == right / 120
        ends = proportion_confint(right, 120, method="wilson")
        np.testing.assert_allclose([found[f"{source}_lower"], found[f"{source}_upper"]], ends, **EXACT)
        majority = test["ill"] == train["ill"].mode()[0]
        assert table.set_index("measure").loc["majority", source] == pytest.approx(majority.mean())


@st.composite
def tables(draw):
    n = draw(st.integers(12, 40))
    values = {
        "age": st.integers(20, 79).map(str),
        "sex": st.sampled_from(["F", "M", ""]),
        "job": st.sampled_from([row[0] for row in JOBS]),
        "pay": st.integers(0, 9).map(lambda tenths: str(tenths / 10)),
    }
    return pd.DataFrame({name: draw(st.lists(each, min_size=n, max_size=n)) for name, each in values.items()})


@examples(40, fast=5)
@given(tables(), st.randoms(use_true_random=False))
def test_an_unchanged_release_in_any_order_changes_nothing(table, random):
    utility = DataUtility(table, UtilitySection(regression="pay ~ age + sex + job", classifier="job"), HIERARCHIES)
    order = random.sample(range(len(table)), len(table))
    found = utility.compare(table)
    assert ((found["change"] == 0) | found["original"].isna() | (found["original"] == 0)).all()
    assert (found["overlap"].dropna() == 1).all()
    shuffled = utility.compare(table.iloc[order])
    plain = found["measure"] != "coefficient"
    np.testing.assert_allclose(shuffled.loc[plain, "released"], found.loc[plain, "released"], atol=1e-9)


@examples(40)
@given(tables(), st.sampled_from(["age", "sex", "job", "pay"]))
def test_a_suppressed_column_has_no_statistics_and_leaves_the_others_unchanged(table, name):
    found = DataUtility(table, UtilitySection(), HIERARCHIES).compare(table.assign(**{name: "*"}))
    of_column = found["column"].str.split(", ").map(lambda names: name in names)
    assert found.loc[of_column, "released"].isna().all()
    others = found[~of_column & found["original"].notna()]
    assert (others["released"] == others["original"]).all()


@examples(40)
@given(tables(), st.lists(st.integers(0, 11), min_size=1, max_size=8, unique=True))
def test_withheld_records_are_left_out(table, withheld):
    kept = table.drop(index=withheld)
    found = DataUtility(table, UtilitySection(columns=("age",)), HIERARCHIES).compare(kept)
    mean = kept["age"].astype(float).mean()
    np.testing.assert_allclose(found.loc[found["measure"] == "mean", "released"], mean, **EXACT)


# Runs and scores


SCENARIO = """
[release]
path = "people.csv"
[attributes.years]
column = "age"
hierarchy = { rule = "intervals", widths = [10, 20] }
[attributes.sex]
values = { F = "female", M = "male" }
hierarchy = { rule = "suppress" }
[attributes.job]
hierarchy = { rule = "table", file = "jobs.csv" }
[economics]
benefit = 100
loss = 300
gain = 200
cost = 50
[adversary]
risk = "prosecutor"
[publisher]
policies = ["no-protection", "basic", "k-anonymity-5", "suppress-all"]
sensitive = "ill"
[utility]
regression = "pay ~ years + sex + job"
classifier = "ill"
"""
MEASURES = ["mean_change", "variance_change", "correlation_change", "interval_overlap", "classifier_accuracy"]


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().assign(pid=[f"P{number}" for number in range(400)]).to_csv("people.csv", index=False)
    pd.DataFrame(JOBS).to_csv("jobs.csv", index=False, header=False, sep=";")
    (tmp_path / "clinic.toml").write_text(SCENARIO)
    return tmp_path


def run_with(**utility):
    """Run the scenario with another section ``utility``."""
    section = "".join(f"{key} = {json.dumps(value)}\n" for key, value in utility.items())
    Path("clinic.toml").write_text(f"{SCENARIO.partition('[utility]')[0]}[utility]\n{section}")
    return reidsim.run("clinic.toml")


@pytest.mark.deep
def test_run_compares_every_policy_and_saves_the_table(clinic):
    result = reidsim.run("clinic.toml")
    table = result.analysis.data_utility.set_index(["policy", "measure", "column"])
    np.testing.assert_allclose(result.summary.loc["no-protection", MEASURES[:4]].to_list(), [0, 0, 0, 1])
    assert result.summary.loc["suppress-all", "interval_overlap"] == 0
    assert set(table.loc["basic"].loc["mean"].index) == {"years", "pay"}
    accuracy = table.loc[("k-anonymity-5", "accuracy", "ill"), "released"]
    assert result.summary.loc["k-anonymity-5", "classifier_accuracy"] == accuracy
    records = result.records[result.records["policy"] == "k-anonymity-5"]
    expected = DataUtility(
        reidsim.run("clinic.toml").records.query("policy == 'no-protection'")[["years", "sex", "job"]].astype(str),
        UtilitySection(),
        {"job": JOBS},
    ).compare(records.reset_index(drop=True)[["years", "sex", "job"]].astype(str))
    found = table.loc["k-anonymity-5"]
    for row in expected.to_dict("records"):
        np.testing.assert_allclose(found.loc[(row["measure"], row["column"]), "released"], row["released"], **EXACT)
    loaded = reidsim.load_result(result.save(clinic / "results"))
    pd.testing.assert_frame_equal(loaded.analysis.data_utility, result.analysis.data_utility)


@pytest.mark.deep
def test_score_of_a_shared_file_has_the_statistics_of_its_policy(clinic):
    result = reidsim.run("clinic.toml")
    keep = {"keep": ["ill", "pay"], "keep_identifier": ["pid"], "unknown_to_outsiders": ["ill", "pay", "pid"]}
    shared = reidsim.share(result, "basic", path="basic.csv", accept_risk=True, **keep)
    with pytest.raises(reidsim.InputError, match="the rows of a table from share are sorted"):
        reidsim.score(shared, "clinic.toml")
    scored = reidsim.score("basic.csv", "clinic.toml", key="pid")
    columns = [column for column in scored.summary if column in MEASURES]
    assert columns == MEASURES
    own, policy = scored.summary.loc["basic.csv", columns], scored.summary.loc["basic", columns]
    np.testing.assert_allclose(own.to_list(), policy.to_list(), **EXACT)
    assert scored.figures == ("payoffs", "risk-utility")
    loaded = reidsim.load_result(scored.save(clinic / "scored"))
    pd.testing.assert_frame_equal(loaded.data_utility, scored.data_utility)


def test_rows_of_a_scored_file_are_matched_by_key_and_missing_columns_are_suppressed(clinic):
    table = pd.read_csv("people.csv", dtype=str)
    table.drop(columns=["pay", "job"]).iloc[::-2].to_csv("half.csv", index=False)
    found = reidsim.score("half.csv", "clinic.toml", key="pid").data_utility.set_index(["policy", "measure", "column"])
    mean = table["age"].iloc[::-2].astype(float).mean()
    np.testing.assert_allclose(found.loc[("half.csv", "mean", "years"), "released"], mean, **EXACT)
    assert np.isnan(found.loc[("half.csv", "cramers_v", "sex, job"), "released"])
    held_out = set(random_stream(0, "data-utility").permutation(400)[:120])
    assert held_out & set(range(399, 0, -2))
    accuracy = found.loc[("half.csv", "accuracy", "ill"), "released"]
    assert accuracy > 0.5


def test_without_the_section_results_have_no_statistics(clinic):
    result = reidsim.Scenario.load("clinic.toml", {"utility": None}).run()
    assert not set(MEASURES) & set(result.summary)
    assert "data_utility" not in result.analysis.tables()
    assert "risk-utility" not in result.figures


def test_map_has_one_labelled_point_per_policy_and_file(clinic):
    pd.read_csv("people.csv", dtype=str).assign(age="*").to_csv("other.csv", index=False)
    scored = reidsim.score("other.csv", "clinic.toml")
    (axes,) = scored.plot("risk-utility").axes
    points = {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in axes.lines}
    assert points == set(zip(1 - scored.summary["interval_overlap"], scored.summary["risk"], strict=True))
    labels = "\n".join(text.get_text() for text in axes.texts).split("\n")
    assert sorted(labels) == sorted(["other.csv", "No protection", "Basic", "5-anonymity", "Suppress all"])
    assert "overlap" in axes.get_xlabel()
    assert "risk" in axes.get_ylabel()


def test_labels_of_near_points_of_the_map_do_not_print_on_each_other():
    risk, loss = [0.0, 0.0002, 0.0, 0.006, 0.0021], [0.13, 0.131, 0.14, 0.17, 0.24]
    summary = pd.DataFrame({"risk": risk, "mean_change": loss}, index=["basic", "pram", "swap", "noise", "no-attack"])
    ((_, figure),) = runs.risk_utility_maps(summary)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 3
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("pay", "pay"),
        ("~ years", "~ years"),
        ("pay ~", "pay ~"),
        ("pay ~ years ~ sex", "pay ~ years ~ sex"),
        ("pay ~ np.log(years)", r"pay ~ np.log\(years\)"),
        ("C(pay) ~ years", r"C\(pay\) ~ years"),
        ("pay ~ years + C(pay)", r"pay ~ years \+ C\(pay\)"),
        ("pay ~ I(years)", r"pay ~ I\(years\)"),
        ("pay ~ years +", r"pay ~ years \+"),
        ("__import__('os').remove('people.csv') ~ years", ".__import__"),
    ],
)
def test_formulas_of_anything_but_columns_are_refused(clinic, formula, found):
    with pytest.raises(
        InputError, match=rf"clinic.toml: utility.regression: .*; found .?{found}.*; expected a formula"
    ):
        run_with(regression=formula)
    assert (clinic / "people.csv").exists()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("regression", "pay ~ years - 1", "utility.regression: no such column; found years - 1; expected one of"),
        ("regression", "pay ~ sex:job", "utility.regression: an interaction without its main effects"),
        ("regression", "job ~ years", "utility.regression: the outcome cannot be regressed; found 4 values"),
        ("classifier", "sick", "utility.classifier: no such column; found sick"),
        ("columns", ["years", "weight"], "utility.columns: no such column; found weight"),
        ("columns", ["years", "years"], "utility.columns: column given twice"),
        ("categories", ["region"], "utility.categories: no such column; found region"),
    ],
)
def test_other_mistakes_are_refused_with_file_and_key(clinic, key, value, message):
    with pytest.raises(InputError) as refused:
        run_with(**{key: value})
    assert f"clinic.toml: {message}" in str(refused.value).replace("'", "")


@pytest.mark.parametrize(("package", "key"), [("statsmodels", "regression"), ("sklearn", "classifier")])
def test_a_missing_package_is_named_with_the_command_that_installs_it(clinic, monkeypatch, package, key):
    for name in [*sys.modules]:
        if name.partition(".")[0] == package:
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf"utility.{key}: .*{package}.*pip install 'reidsim\[utility\]'"):
        run_with(**{key: {"regression": "pay ~ years", "classifier": "ill"}[key]})


def test_rounds_have_no_statistics(clinic):
    rounds = SCENARIO.replace(', "k-anonymity-5", "suppress-all"', "") + "[agents]\nrounds = 2\n"
    (clinic / "clinic.toml").write_text(rounds)
    with pytest.raises(InputError, match=r"clinic.toml: .*utility: the key has no effect"):
        reidsim.run("clinic.toml")


def test_codes_made_of_digits_can_be_categories(clinic):
    table = pd.DataFrame({"zip": ["37203", "37203", "38117", "38117"], "sex": ["F", "F", "M", "M"]})
    found = DataUtility(table, UtilitySection(categories=("zip",))).compare(table.assign(zip="372**"))
    assert list(found["measure"]) == ["cramers_v"]
    assert found["original"].tolist() == [1.0]
