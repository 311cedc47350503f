"""The report of a results folder: content, accessibility, and no active content."""

import base64
import json
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from found import at_least
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import reidsim
from reidsim.core.wording import measures_among
from reidsim.engine.results import make_manifest
from reidsim.reports.drawing import illustrate
from reidsim.reports.page.report import UPPER_ENDS, class_shares, report_text
from reidsim.reports.page.sources import assumptions, open_results
from reidsim.scenarios.kind import find_kind
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).parents[1] / "scenarios" / "town"
TOWN_SCENARIO = Scenario.load(TOWN / "town.toml", seed=1).scenario
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[click](javascript:alert(1)) ![x](https://example.org/x.png)",
    "<https://example.org> | <b>bold</b> `code` **x** &lt;script&gt;",
    "line\n\n# heading\n\n<script>alert(1)</script>\u202e\x07",
    "```\n<script>alert(1)</script>\n```",
]


class Parsed(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.words, self.stack, self.unclosed = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "img", "rect", "wbr"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "style" not in self.stack:
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def assert_runs_and_loads_nothing(page):
    """Check that a page has no script, no event handler and no external resource."""
    assert {tag for tag, _ in page.elements} <= {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "p", "nav", "ul", "li", "a", "main", "h2",
        "code", "pre", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "svg", "rect", "figure",
        "img", "figcaption", "wbr",
    }  # fmt: skip
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in ("srcset", "action", "background", "style"), (tag, name)
            if name == "src":
                assert value.startswith("data:image/png;base64,")
            if name == "href":
                assert value.startswith("#part-")
    style = [attributes.get("content", "") for tag, attributes in page.elements if tag == "meta"]
    assert any("default-src 'none'" in content for content in style)


def folder_of(path, *, runs, records=None, content=None, manifest=None, tables=None):
    """Write a results folder by hand."""
    path.mkdir()
    runs = pd.DataFrame(runs)
    runs.to_parquet(path / "runs.parquet", index=False)
    if records is not None:
        pd.DataFrame(records).to_parquet(path / "records.parquet", index=False)
    for name, table in (tables or {}).items():
        pd.DataFrame(table).to_parquet(path / f"{name}.parquet", index=False)
    content = {"title": "A study", "economics": {"benefit": 100, "loss": 60, "cost": 10}, **(content or {})}
    loaded = Scenario("study", Path("study.toml"), TOWN_SCENARIO, content)
    made = make_manifest(loaded, {}, {"records": 4})
    made["warnings"] = []
    (path / "manifest.json").write_text(json.dumps(made | (manifest or {})), encoding="utf-8")
    return path


def rows_of(*policies, **more):
    """Return rows of runs.parquet: policy, payoff, share attacked, risk."""
    return [
        {
            "scenario": "study", "point": 0, "replication": 0, "policy": name, "publisher_payoff": pays,
            "adversary_payoff": 1.0, "share_attacked": attacked, "risk": risk, "state": "complete", "seed": 1, **more,
        }
        for name, pays, attacked, risk in policies
    ]  # fmt: skip


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """Run the small town; return the results folder."""
    folder = tmp_path_factory.mktemp("town") / "results"
    settings = {
        "publisher.policies": ["no-protection", "basic", "no-attack"],
        "figures.strategies": {"age": "30", "sex": "F", "district": "N1"},
    }
    reidsim.run(TOWN / "town.toml", overrides=settings).save(folder)
    return folder


@pytest.fixture(scope="module")
def text(town):
    """Return the report of the town."""
    return reidsim.report(town, town.parent / "page" / "report").html


# Content of a report.


@pytest.mark.deep
def test_the_report_of_a_run_shows_its_numbers_with_their_definitions(town, text):
    page = Parsed(text)
    runs = pd.read_parquet(town / "runs.parquet").set_index("policy")
    assert page.stack == []
    assert "Patients of a small town" in page.text
    for column in ("publisher_payoff", "adversary_payoff"):
        for value in runs[column]:
            assert f"{value:,.2f}" in page.text
    for measure in at_least(9, measures_among(find_kind("tables").measures, runs.columns).values()):
        assert f"{measure.label}{measure.definition}" in page.text
    best = runs["publisher_payoff"].idxmax()
    # Groups of six are too small for the limit of 1 in 11.
    assert "No release is recommended" in page.text
    assert "The choice is between 3 policies. no-attack leaves no profitable attack for this adversary" in page.text
    assert f"{best} pays most, {runs.loc[best, 'publisher_payoff']:,.2f}, which is " in page.text
    assert f"exposes {runs.loc[best, 'share_attacked']:.2%} of the records to an attack: about " in page.text
    assert "Payoff parameters per record, from the scenario: benefit 100, loss 60, gain 60, cost 10." in page.text


@pytest.mark.deep
def test_the_report_needs_nothing_else_and_its_figures_are_described(town, text, tmp_path):
    page = Parsed(text)
    assert_runs_and_loads_nothing(page)
    figures = illustrate(reidsim.load_result(town), tmp_path)
    pictures = [attributes for tag, attributes in page.elements if tag == "img"]
    assert figures
    assert len(pictures) == len(figures)
    for attributes, name in zip(pictures, figures, strict=True):
        assert len(attributes["alt"].split()) >= 4
        data = base64.b64decode(attributes["src"].removeprefix("data:image/png;base64,"))
        assert data == (tmp_path / name).read_bytes()
    assert ("html", {"lang": "en"}) in page.elements


def test_a_figure_that_cannot_be_drawn_is_a_warning_of_the_report(town, tmp_path):
    shutil.copytree(town, tmp_path / "moved")
    (tmp_path / "moved" / "strategies.parquet").unlink()
    page = Parsed(reidsim.report(tmp_path / "moved").html)
    assert f"Figures are left out: {tmp_path / 'moved'}: strategies.parquet missing; expected a compl" in page.text
    assert "img" not in dict(page.elements)


def test_released_values_of_single_records_are_not_in_the_report(town, text):
    records = pd.read_parquet(town / "records.parquet")
    for district in records["district"].dropna().unique():
        assert not re.search(rf"> ?{re.escape(str(district))} ?<", text) or district == "*"


# Answers.


def answer_of(folder):
    return Parsed(report_text(folder)).text


def records_of(policy, success, attacked):
    """Return rows of records.parquet with one quasi-identifier."""
    return pd.DataFrame(
        {
            "record": np.arange(len(success)), "policy": policy, "strategy": "age 0", "age": [f"{20 + i % 3}" for i in
            range(len(success))], "success_probability": success, "attacked": attacked,
        }
    )  # fmt: skip


def test_how_many_are_expected_and_how_many_in_95_of_100_cases(tmp_path):
    """Success 1, 1, 1/2, 1/2, one not attacked: expect 3; 4 in one case of four."""
    success, attacked = np.array([1.0, 1.0, 0.5, 0.5, 0.25]), np.array([True, True, True, True, False])
    runs = rows_of(("a", 5.0, 0.8, 3 / 5), ("b", 4.0, 0.0, 0.0))
    records = pd.concat([records_of("a", success, attacked), records_of("b", success / 4, attacked & False)])
    told = {"policy": ["a", "a", "a", "b"], "people": [2, 3, 4, 0], "at_most": [0.25, 0.75, 1.0, 1.0]}
    folder = folder_of(
        tmp_path / "r", runs=runs, records=records, manifest={"records": 5}, tables={"reidentified": told}
    )
    text = answer_of(folder)
    assert (
        "a pays most, 5.00, which is 1.00 more, and exposes 80.00% of the records to an attack: about 3.0 of 5" in text
    )
    assert "are expected to be re-identified, and no more than 4 in 95 of 100 cases" in text
    assert "a3.041-5.00-" in text
    assert "b000.25 (1 in 4)-4.001.00" in text
    # Without a stored distribution, no number of cases is reported.
    runs[0]["risk"] = 0.5
    other = answer_of(folder_of(tmp_path / "s", runs=runs, records=records, manifest={"records": 5}))
    assert "a2.5-1-5.00-" in other
    assert "95 of 100 cases" not in other


@pytest.mark.deep
def test_the_gap_of_a_search_within_a_budget_stands_before_the_first_table(tmp_path):
    publisher = {"unit": "table", "search": "anytime", "nodes": 2, "policies": ["basic"]}
    changes = {"population.holds_release": False} | {f"publisher.{key}": value for key, value in publisher.items()}
    result = reidsim.run(TOWN / "town.toml", overrides=changes)
    gap = result.manifest["policies"]["basic"]["gap"]
    assert gap > 0
    result.save(tmp_path / "run")
    page = reidsim.report(tmp_path / "run", tmp_path / "page").html
    assert f"{gap:.2%} of the best case" in page.partition("<table")[0]


def test_every_stated_value_says_whose_it_is(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('extends = "wan2015"\n[economics]\nloss = 300\ncost = 7 # asked around\n', encoding="utf-8")
    loaded = Scenario.load(own, {"economics.benefit": 900})
    manifest = make_manifest(loaded, {}, {})
    run = open_results(folder_of(tmp_path / "r", runs=rows_of(("basic", 1.0, 0.0, 0.0)), manifest=manifest))
    whose = {row[0].text: row[3] for row in assumptions(run)["stated"]}
    assert whose["economics.benefit"] == "yours, in place of the scenario's value"
    assert whose["economics.loss"] == "fines per breached record; default, from Wan et al. 2015"
    assert whose["economics.cost"] == "asked around; yours"
    assert whose["adversary.risk"] == "as the bundled scenario"


def test_the_cells_at_the_highest_risk_are_listed_with_their_records(tmp_path):
    success = np.array([0.5, 0.1, 0.25, 0.5, 0.1, 0.25, 0.5])
    records = records_of("a", success, success > 0.2)
    content = {
        "game": "tables", "release": {"path": "r.csv"}, "attributes": {"age": {"hierarchy": {"rule": "suppress"}}},
        "adversary": {"risk": "prosecutor"},
    }  # fmt: skip
    folder = folder_of(tmp_path / "r", runs=rows_of(("a", 5.0, 0.5, 0.3)), records=records, content=content)
    page = report_text(folder)
    text = Parsed(page).text
    cells = re.findall(r"age (\d+)(\d)(0\.\d{4})", text)
    assert cells == [("20", "3", "0.5000"), ("22", "2", "0.2500"), ("21", "2", "0.1000")]
    assert "Cells at the highest risk" not in Parsed(report_text(folder, cells=False)).text
    assert "The records as released were not read back" not in text


@pytest.mark.deep
def test_the_release_is_audited_where_its_file_is_at_hand(town, text, tmp_path):
    page = Parsed(text)
    assert "The release, read back" in page.text
    assert "Fewest people who match a row" in page.text
    moved = tmp_path / "moved"
    shutil.copytree(town, moved)
    manifest = json.loads((moved / "manifest.json").read_text(encoding="utf-8"))
    manifest["release_file"]["path"] = "elsewhere.csv"
    (moved / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    other = Parsed(reidsim.report(moved, tmp_path / "other.html").html)
    assert "The records as released were not read back: elsewhere.csv: no such file" in other.text
    assert "Fewest people who match a row" not in other.text
    assert "exposes no " not in other.text


def test_the_lead_is_told_with_its_error_from_paired_replications(tmp_path):
    runs = [
        row
        for replication, (first, second) in enumerate([(10.0, 7.0), (20.0, 18.0), (30.0, 29.0)])
        for row in rows_of(("a", first, 0.1, 0.1), ("b", second, 0.1, 0.1), replication=replication)
    ]
    text = answer_of(folder_of(tmp_path / "r", runs=runs))
    # Differences 3, 2, 1: mean 2, standard deviation 1, standard error 1 / sqrt(3).
    assert "Over 3 replications the difference between a and b is 2.00 with a standard error of 0.58." in text
    assert "difference is not clear" not in text
    runs[0]["publisher_payoff"] = 1.0
    assert "difference is not clear" in answer_of(folder_of(tmp_path / "s", runs=runs))


def test_varied_values_are_told_by_point_and_failed_runs_are_left_out(tmp_path):
    runs = [
        row
        for point, (cost, first) in enumerate([(1, 5.0), (2, 9.0), (3, 9.5)])
        for row in rows_of(("a", first, 0.1, 0.1), ("b", 8.0, 0.1, 0.1), point=point, **{"economics.cost": cost})
    ]
    runs += rows_of(("a", 1000.0, 1.0, 1.0), point=3, **{"economics.cost": 4})
    runs[-1]["state"] = "failed"
    text = answer_of(folder_of(tmp_path / "r", runs=runs))
    assert "varied over 3 points. Pays most: a at 2, b at 1." in text
    # Cost, best policy, its payoff and risk.
    assert "1b8.000.10002a9.000.10003a9.500.1000" in text.replace(" ", "")
    assert "Means over all records and over 3 points" in text
    assert "1 rows of failed or stopped runs are left out." in text
    assert "1,000.00" not in text


def test_the_gain_is_shown_at_every_point_of_a_varied_loss(tmp_path):
    runs = [
        row
        for point, loss in enumerate([60, 300, 900])
        for row in rows_of(("a", 5.0, 0.1, 0.1), ("b", 4.0, 0.1, 0.1), point=point, **{"economics.loss": loss})
    ]
    content = {"sweep": {"values": {"economics.loss": [60, 300, 900]}}}
    page = report_text(folder_of(tmp_path / "r", runs=runs, content=content))
    assert "<code>economics.gain</code> is not set: at each point the gain equals <code>economics.loss</code>." in page
    plain = re.sub(r"</?(span|code)[^>]*>", "", page[page.index("Best policy by point") :].split("</table>")[0])
    rows = re.findall(r'<th scope="row" class="number">(\d+)</th><td class="number">(\d+)</td>', plain)
    assert rows == [("60", "60"), ("300", "300"), ("900", "900")]


# Distribution of risks.


@given(
    st.lists(st.one_of(st.just(0.0), st.sampled_from([1 / k for k in range(1, 3000)]), st.floats(0, 1)), max_size=50)
)
def test_every_probability_is_in_the_class_that_holds_it(values):
    shares = class_shares(np.array(values, dtype=np.float64))
    counts = [sum(value == 0 for value in values)]
    low = 0.0
    for high in UPPER_ENDS:
        counts.append(sum(low < value <= high for value in values))
        low = high
    near = any(abs(value - end) < 1e-8 * end and value != end for value in values for end in (*UPPER_ENDS,))
    if not near and all(value == 0 or value > 1e-300 for value in values):
        assert (shares * max(len(values), 1)).round(9).tolist() == counts
    assert shares.sum() == pytest.approx(1.0 if values else 0.0)


# Repeating the run.


def test_a_scenario_of_the_users_own_is_repeated_from_the_page_alone(town, text, tmp_path):
    assert "reidsim run town.toml" in text
    listing = re.search(r"<pre[^>]*><code>([^<]*\[publisher\].*?)</code></pre>", text, flags=re.DOTALL)
    shutil.copytree(TOWN, tmp_path / "copy")
    (tmp_path / "copy" / "town.toml").write_text(unescape(listing[1]), encoding="utf-8")
    again = reidsim.run(tmp_path / "copy" / "town.toml")
    manifest = json.loads((town / "manifest.json").read_text(encoding="utf-8"))
    assert again.manifest["scenario_hash"] == manifest["scenario_hash"]
    assert again.runs.equals(pd.read_parquet(town / "runs.parquet"))


# Comments and sources.


@pytest.mark.parametrize("kind", ["run", "several runs", pytest.param("stress", marks=pytest.mark.deep)])
def test_every_results_folder_keeps_where_values_come_from(tmp_path, kind):
    own = tmp_path / "town"
    shutil.copytree(TOWN, own)
    recipe = own / "people" / "people.toml"
    recipe.write_text('source = "its <b>mayor</b>"\n' + recipe.read_text(encoding="utf-8"), encoding="utf-8")
    (own / "study.toml").write_text(
        'extends = "./town.toml"\ntitle = "Town"\n[economics]\ncost = 12 # a day\'s <script>wage</script>\n',
        encoding="utf-8",
    )
    town = own / "town.toml"
    text = town.read_text(encoding="utf-8").replace("benefit = 100", "benefit = 100 # what subscribers pay")
    town.write_text(text, encoding="utf-8")
    folder, file = tmp_path / "results", own / "study.toml"
    if kind == "run":
        reidsim.run(file).save(folder)
    elif kind == "several runs":
        reidsim.run_batch(
            file, overrides={"sweep.values": {"economics.loss": [10, 60]}}, executor="serial", folder=folder
        )
    else:
        beliefs = [{"key": "economics.loss", "believed": [30, 60]}]
        reidsim.stress(file, overrides={"stress": {"beliefs": beliefs}}).save(folder)
    shutil.rmtree(own)
    page = Parsed(reidsim.report(folder, folder / "report.html").html)
    assert_runs_and_loads_nothing(page)
    assert "a day's <script>wage</script>" in page.text
    assert "what subscribers pay" in page.text
    assert "A town. its <b>mayor</b>" in page.text


# Hostile labels.


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_are_text_whatever_they_hold(tmp_path, monkeypatch, label):
    runs = rows_of((label, 2.0, 0.5, 0.5), ("basic", 1.0, 0.5, 0.5), **{f"economics.{label}": 1.0})
    runs += rows_of(("basic", 3.0, 0.5, 0.5), point=1, **{f"economics.{label}": 2.0})
    records = {
        "policy": [label, "basic"],
        "attacked": [True, False],
        "success_probability": [0.5, 0.1],
        label: [label] * 2,
    }
    content = {
        "title": label,
        "source": label,
        "release": {"path": label},
        "attributes": {label: {"hierarchy": {"rule": label}}},
        "adversary": {"knowledge": label},
        label: {label: [label, {label: label}]},
    }
    folder = folder_of(
        tmp_path / "r",
        runs=runs,
        records=records,
        content=content,
        manifest={
            "warnings": [label],
            "scenario": label,
            "policies": {label: {"solver": label}},
            "versions": {label: label},
        },
        tables={"rounds": {"type": [label], "value": [1.0]}},
    )
    report = "reidsim.reports.page.report"
    monkeypatch.setattr(f"{report}.load_result", lambda folder: None)
    monkeypatch.setattr(f"{report}.figures_of", lambda result: iter([("strategies", Figure()), (label, Figure())]))
    page = Parsed(reidsim.report(folder, tmp_path / "page.html").html)
    assert_runs_and_loads_nothing(page)
    assert page.stack == []
    assert [tag for tag, _ in page.elements].count("img") == 2
    shown = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in label)
    assert " ".join(shown.split()) in page.text


# Refused input.


def test_the_command_writes_into_the_folder_and_never_over_anything(tmp_path, reidsim_):
    folder = folder_of(tmp_path / "r", runs=rows_of(("basic", 1.0, 0.0, 0.0)))
    assert reidsim_("report", folder) == (0, f"Report in {folder / 'report.html'}\n", "")
    before = (folder / "report.html").read_bytes()
    code, out, err = reidsim_("report", folder)
    assert (code, out) == (2, "")
    assert err == f"reidsim: {folder / 'report.html'}: exists already; expected a new file: nothing is overwritten\n"
    assert (folder / "report.html").read_bytes() == before
    assert reidsim_("report", folder, "-o", tmp_path / "new" / "page.html")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "wan2015", "-o", "-"),
        ("cross-play", "wan2015", "-o", "-"),
        ("share", "r", "-o", "-"),
        ("share", "r", "-o", "shared.csv", "--rulebook", "-"),
        ("report", "r", "-o", "-"),
        ("apply", "rules.csv", "new.csv", "-o", "-"),
    ],
    ids=" ".join,
)
def test_files_are_not_written_to_standard_output(tmp_path, reidsim_, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    code, out, err = reidsim_(*arguments)
    assert (code, out) == (2, "")
    assert err == "reidsim: results cannot be written to standard output; found '-'; expected a file or folder name\n"
    assert list(tmp_path.iterdir()) == []


def tell(folder, **facts):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").write_text(json.dumps(manifest | facts), encoding="utf-8")
    return folder


def put(name, content):
    """Return a function that writes bytes into a file, or deletes it for None."""

    def spoil(folder):
        path = folder / name
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        return folder

    return spoil


def without_runs(**facts):
    """Return a function that deletes the table of runs and changes the manifest."""
    return lambda folder: tell(put("runs.parquet", None)(folder), **facts)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: folder / "nowhere", "nowhere: no such folder; expected a results folder"),
        (put("manifest.json", b'{"scenario": "x", "versions": {}}'), "manifest.json: content: not the manifest"),
        (put("manifest.json", None), "not a results folder; expected a folder with manifest.json"),
        (lambda folder: tell(folder, content={"title": "another scenario"}), "manifest.json: content: not the mani"),
        (lambda folder: tell(folder, released_people="many"), "manifest.json: released_people: not the manifest of"),
        (lambda folder: tell(folder, scenario_file=[]), "manifest.json: scenario_file: not the manifest of a run"),
        (put("runs.parquet", b"PAR1 no"), "runs.parquet: cannot be read as a Parquet file"),
        (
            without_runs(state="running"),
            "the batch is not complete",
        ),
        (lambda folder: tell(folder, cross_play={"attack_rate": 0.5}), "cross_play.parquet missing"),
    ],
)
def test_what_is_no_results_folder_is_refused_in_one_line_and_nothing_is_written(tmp_path, reidsim_, spoil, says):
    folder = folder_of(tmp_path / "r", runs=rows_of(("basic", 1.0, 0.0, 0.0)))
    code, out, err = reidsim_("report", spoil(folder), "-o", tmp_path / "page.html")
    assert (code, out) == (2, "")
    assert err.startswith("reidsim: ")
    assert says in err
    assert err.count("\n") == 1
    assert not (tmp_path / "page.html").exists()


# Results of other kinds.


def test_cross_play_names_the_best_defender_and_the_safest(tmp_path):
    table = pd.DataFrame(
        [
            ("basic", "one-shot", "one-shot", 9.0),
            ("basic", "one-shot", "always", 1.0),
            ("safe-harbor", "", "one-shot", 5.0),
            ("safe-harbor", "", "always", 4.0),
        ],
        columns=["defender", "plans_against", "adversary", "publisher_payoff"],
    )
    manifest = {"own_adversary": "one-shot", "cross_play": {"knowledge": None, "attack_rate": 0.25}}
    folder = folder_of(
        tmp_path / "r", runs=rows_of(("basic", 1.0, 0.0, 0.0)), tables={"cross_play": table}, manifest=manifest
    )
    (folder / "runs.parquet").unlink()
    text = answer_of(folder)
    assert "own adversary, one-shot, the best defender is basic (which plans against one-shot), which pays 9.00" in text
    assert "Against every adversary, safe-harbor pays at least 4.00, its payoff against always." in text
    assert "reidsim cross-play --attack-rate 0.25 study.toml" in text


@pytest.mark.deep
def test_rounds_without_an_attack_have_a_page(tmp_path):
    ages = pd.DataFrame({"age": [30, 30, 31, 31, 52, 52, 53, 53] * 2})
    own = {"agents.rounds": 2, "adversary.direction": "record", "publisher.policies": ["no-attack"]}
    folder = reidsim.new(ages).scenario.with_(own).run().save(tmp_path / "results")
    assert reidsim.load_result(folder).figures == ("payoffs", "rounds", "reidentified")
    assert "no-attack" in report_text(folder)


@pytest.mark.deep
def test_a_release_of_nobody_with_a_declared_column_has_a_page(tmp_path):
    people = pd.DataFrame({"age": [20, 30, 41, 52, 63, 74], "illness": ["a", "b"] * 3})
    kept = {"illness": {"share": True, "known_to": "nobody", "reason": "coded"}}
    own = {"publisher.policies": ["no-attack"], "economics.cost": 0.0, "kept": kept}
    draft = reidsim.new(people, quasi_identifiers=["age"], one_row_per_person=True)
    assert "(0 of 0)" in report_text(draft.scenario.with_(own).run().save(tmp_path / "results"))
