"""The first page of the report, checked against the files."""

import json
import math
import re
import sys
from html import unescape

import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader

import reidsim
from reidsim.cli import main
from reidsim.core.errors import InputError
from reidsim.engine.switch import PRECISION, break_even
from reidsim.reports.page import decision as decisions
from reidsim.reports.page.pdf import pdf_of
from reidsim.reports.page.report import report_text
from reidsim.scenarios.scenario import Scenario

SCENARIO = """
title = "Patients"
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [5, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.town]
hierarchy = { rule = "prefix", digits = [2] }
[economics]
benefit = 100
loss = 60
cost = 5
[adversary]
risk = "prosecutor"
direction = "DIRECTION"
[publisher]
policies = ["no-protection", "basic", "no-attack"]
"""


def people(rows=40, seed=3, more=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "name": [f"Person {number:04d}" for number in range(rows)],
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["F", "M"], rows),
            "town": rng.choice(["101", "102", "201"], rows),
            "illness": rng.choice(["flu", "asthma", "cough"], rows, p=[0.8, 0.1, 0.1]),
            "charge": rng.integers(1_000, 9_000, rows) + 0.5,
        }
    )
    answers = pd.DataFrame(rng.integers(0, 9, (rows, more)), columns=[f"answer {number}" for number in range(more)])
    return pd.concat([table, answers], axis=1)


def study(folder, direction="both", **options):
    """Write a file of people and a scenario, and run it; return the folder."""
    folder.mkdir(exist_ok=True)
    people(**options).to_csv(folder / "people.csv", index=False)
    (folder / "patients.toml").write_text(SCENARIO.replace("DIRECTION", direction))
    reidsim.run(folder / "patients.toml").save(folder / "results")
    return folder


def command(*arguments):
    """Run a command in this process; return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["reidsim", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code or 0


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a run of 40 people with a written file of the release `no-attack`."""
    folder = study(tmp_path_factory.mktemp("signed") / "study")
    options = ["--keep-identifier", "charge", "--unknown-to-outsiders", "charge", "--max-risk", "0.5"]
    assert command("share", folder / "results", "-o", folder / "shared.csv", "--policy", "no-attack", *options) == 0
    return folder


@pytest.fixture(scope="module")
def page(shared):
    return report_text(shared / "results", break_even=False)


def plain(html):
    """Return the text of HTML."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def tables(html):
    """Return the rows of every table, as text, by caption."""
    found = {}
    for table in re.findall(r"<table>(.*?)</table>", html, flags=re.S):
        caption = plain("".join(re.findall(r"<caption>(.*?)</caption>", table, flags=re.S)))
        rows = [
            re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.S) for row in re.findall(r"<tr>(.*?)</tr>", table)
        ]
        found[caption] = [[plain(cell) for cell in row] for row in rows]
    return found


def table(html, start):
    """Return the only table whose caption starts with a text."""
    (found,) = [rows for caption, rows in tables(html).items() if caption.startswith(start)]
    return found


def decision(html):
    """Return the text of the first part of the page."""
    return plain(html[html.index('<h2 id="part-1">') : html.index('<h2 id="part-2"')])


@pytest.mark.deep
def test_the_read_back_has_the_numbers_of_the_sidecar(shared, page):
    sidecar = json.loads((shared / "shared.csv.json").read_text())
    audit, risk = sidecar["audit"], sidecar["risk"]
    header, *rows = table(page, "Read back from the written file shared.csv")
    row = next(row for row in rows if row[0] == "no-attack")
    counts = ("smallest_class", "people_who_fit_one_alone", "people_more_exposed_than_promised")
    assert [int(cell) for cell in row[1:4]] == [audit[key] for key in counts]
    assert [float(cell.split()[0]) for cell in row[4:6]] == pytest.approx([risk["record"], risk["person"]], abs=1e-4)
    assert (row[6] == "yes") is not risk["above_limit"]
    assert "0.5 (1 in 2)" in header[6]


def test_every_column_of_the_source_file_has_a_row_with_its_treatment_and_samples(shared, page):
    source = pd.read_csv(shared / "people.csv", dtype=str)
    written = pd.read_csv(shared / "shared.csv", dtype=str)
    rows = table(page, "All 6 columns of the source file")[1:]
    row_of = {row[0]: row[1:] for row in rows}
    assert sorted(row_of) == sorted(source.columns)
    assert row_of["name"][0].startswith("omitted: direct identifier")
    assert row_of["illness"][0] == "omitted"
    assert row_of["charge"][0].startswith("kept as it is; declared unknown to outsiders")
    columns = ["age", "sex", "town"]
    changes = [[row_of[name][1 + at].split(" \N{RIGHTWARDS ARROW} ") for name in columns] for at in range(3)]
    rows, released = (each[[*columns, "charge"]].to_numpy().tolist() for each in (source, written))
    for change in changes:
        before, after = map(list, zip(*change, strict=True))
        charges = {charge for *values, charge in rows if values == before}
        assert charges & {charge for *values, charge in released if values == after}
    # Values of other columns are not shown next to true quasi-identifiers.
    text = plain(page)
    for value in [*source["name"], *source["charge"], *source["illness"]]:
        assert value not in text
    unchanged = (written["sex"] != "*").mean()
    told = re.search(r"shared as is(?: in (\d+)%)?", row_of["sex"][0])
    share = 0.0 if told is None else float(told[1] or 100) / 100
    assert share == pytest.approx(unchanged, abs=0.006)


@pytest.mark.deep
def test_a_wide_file_has_its_quasi_identifiers_on_the_first_page_and_others_in_an_appendix(tmp_path, monkeypatch):
    monkeypatch.setattr(decisions, "_MOST_IN_APPENDIX", 3)
    folder = study(tmp_path / "wide", "record", rows=30, more=14)
    kept = [f"answer {number}" for number in range(5)]
    options = [part for name in kept for part in ("--keep", name)]
    options += ["--unknown-to-outsiders", ",".join(kept), "--policy", "no-attack", "--accept-risk"]
    assert command("share", folder / "results", "-o", folder / "shared.csv", *options) == 0
    text = report_text(folder / "results", break_even=False)
    rows = table(text, "The 3 quasi-identifiers among the 20 columns of the source file in release no-attack")
    assert [row[0] for row in rows[1:]] == ["age", "sex", "town"]
    assert "5 are kept and 12 omitted: see the appendix" in decision(text)
    others = table(text, "Columns that are kept or omitted; and 2 more in the sidecar; and 12 more that are omitted")
    assert [row[0] for row in others[1:]] == kept[:3]


@pytest.mark.parametrize(
    ("seed", "limit"),
    [
        (1, ["--accept-risk"]),
        pytest.param(1, ["--max-risk", "0.6"], marks=pytest.mark.deep),
        (3, ["--max-risk", "0.6"]),
    ],
)
def test_exposes_no_record_stands_only_where_the_read_back_agrees(tmp_path, seed, limit):
    """With seed 1, true risk exceeds the promise: above limit 1, below limit 2.

    "Exposes no record" appears only if the audit of the written file agrees.
    """
    folder = study(tmp_path / "study", "record", rows=40, seed=seed)
    options = ["--policy", "no-attack", *limit]
    assert command("share", folder / "results", "-o", folder / "shared.csv", *options) == 0
    sidecar = json.loads((folder / "shared.csv.json").read_text())
    agrees = not sidecar["risk"]["above_limit"] and not sidecar["audit"]["people_more_exposed_than_promised"]
    text = plain(report_text(folder / "results", break_even=False))
    assert agrees is (seed == 3)
    assert ("exposes no record" in text) is agrees
    assert ",." not in text
    assert ("No release is recommended" in text) is sidecar["risk"]["above_limit"]


def test_a_changed_file_and_the_file_of_another_run_are_refused(tmp_path, capsys):
    one, other = study(tmp_path / "one", "record", rows=30), study(tmp_path / "other", "record", rows=30, seed=9)
    options = ["--policy", "no-attack", "--accept-risk"]
    for folder in (one, other):
        assert command("share", folder / "results", "-o", folder / "shared.csv", *options) == 0
    asked = ["report", one / "results", "--shared", other / "shared.csv", "-o", tmp_path / "report.html"]
    assert command(*asked) == 2
    assert "the sidecar differs from the release of the run" in capsys.readouterr().err
    (one / "shared.csv").write_text((one / "shared.csv").read_text() + "20,F,101\n")
    with pytest.raises(InputError, match="changed since"):
        report_text(one / "results", shared_file=one / "shared.csv")
    assert not (tmp_path / "report.html").exists()


# Break-even.


@pytest.mark.parametrize("gain", [None, pytest.param(60, marks=pytest.mark.deep)])
def test_break_even_is_that_of_runs_at_each_loss(tmp_path, gain):
    study(tmp_path, "record", rows=40)
    fixed = {} if gain is None else {"economics.gain": gain}
    loaded = Scenario.load(tmp_path / "patients.toml", fixed)
    found = break_even(loaded)
    assert found.gain == gain
    assert set(found.payoffs) >= {times * found.own for times in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)}
    for loss, payoffs in list(found.payoffs.items())[::4]:
        again = reidsim.run(tmp_path / "patients.toml", overrides={**fixed, "economics.loss": loss}).summary
        assert payoffs == pytest.approx(again["publisher_payoff"].to_dict(), rel=1e-9)
        (best,) = next(each.best for each in found.best if each.low <= loss <= each.high)
        assert payoffs[best] == pytest.approx(max(payoffs.values()), rel=1e-9)
    assert [each.low for each in found.best] == [0.0, *(each.high for each in found.best[:-1])]
    assert found.best[-1].high == math.inf
    for below, above in zip(found.best[:-1], found.best[1:], strict=True):
        for loss, policy in ((below.high / PRECISION, *below.best), (above.low * PRECISION, *above.best)):
            again = reidsim.run(tmp_path / "patients.toml", overrides={**fixed, "economics.loss": loss}).summary
            assert again["publisher_payoff"][policy] == pytest.approx(again["publisher_payoff"].max(), rel=1e-9)


@pytest.mark.deep
def test_the_page_tells_the_break_even_of_releases_chosen_anew_and_whether_gain_changes(tmp_path):
    """Above the loss at which the run's releases tie, `basic` adapts and is best."""
    folder = study(tmp_path, "record", rows=80)
    runs = pd.read_parquet(folder / "results" / "runs.parquet").set_index("policy")
    payoff, risk = runs["publisher_payoff"], runs["risk"]
    crossing = 60 + (payoff["basic"] - payoff["no-attack"]) / risk["basic"]
    again = reidsim.run(folder / "patients.toml", overrides={"economics.loss": 1.2 * crossing}).summary
    assert again["publisher_payoff"]["basic"] > again["publisher_payoff"]["no-attack"]
    page = report_text(folder / "results", break_even=True)
    header, *rows = table(page, "The decision")
    assert header[-1] == "Best choice when a re-identification costs"
    best = next(row[-1] for row in rows if row[0] == "basic")
    low, high = (float(number.replace(",", "")) for number in re.findall(r"[\d,.]+", best))
    assert low < crossing < 1.2 * crossing < high
    assert "gain changes with the loss" in decision(page)
    text = (folder / "patients.toml").read_text().replace("cost = 5", "cost = 5\ngain = 40")
    (folder / "patients.toml").write_text(text)
    reidsim.run(folder / "patients.toml").save(folder / "again")
    assert "gain stays at 40" in decision(report_text(folder / "again", break_even=True))


@pytest.mark.deep
def test_a_release_that_reveals_sensitive_values_is_not_recommended(tmp_path):
    """Twelve people per age are within the limit, but one age has one illness."""
    people = pd.DataFrame({"age": np.repeat(["30", "40"], 12), "illness": ["flu"] * 12 + ["flu", "cough"] * 6})
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "patients.toml").write_text(
        'title = "Patients"\n[release]\npath = "people.csv"\n[attributes.age]\nhierarchy = { rule = "suppress" }\n'
        "[economics]\nbenefit = 100\nloss = 60\ncost = 20\n"
        '[publisher]\nunit = "table"\nsensitive = "illness"\nmax_inference = 0.8\n'
        'policies = ["no-protection", "basic", "suppress-all"]\n'
    )
    reidsim.run(tmp_path / "patients.toml", overrides={"adversary.risk": "prosecutor"}).save(tmp_path / "results")
    page = report_text(tmp_path / "results", break_even=False)
    text = plain(page)
    assert "Recommended release: no-protection" not in text
    assert "Recommended release: basic" in text
    _, *rows = table(page, "Counted in the rows of each release")
    within = {row[0]: row[-1] for row in rows}
    assert within == {"no-protection": "NO: sensitive values", "basic": "yes", "suppress-all": "yes"}


@pytest.mark.parametrize("sign", [pytest.param("\u5f20", marks=pytest.mark.deep), "\u0639"])
def test_a_character_that_the_pdf_cannot_show_is_refused(shared, tmp_path, sign):
    results = shared / "results"
    with pytest.raises(InputError, match=f"no PDF: the fonts lack a character; found '{sign}'"):
        reidsim.report(results, tmp_path / "a.pdf", break_even=False, decider=f"Ada {sign}")
    assert not (tmp_path / "a.pdf").exists()
    assert sign in reidsim.report(results, tmp_path / "a.html", break_even=False, decider=f"Ada {sign}").html


@pytest.mark.deep
def test_the_pdf_has_the_printed_parts_of_the_page_and_the_block_of_the_decider(shared, tmp_path):
    results = shared / "results"
    signed = {"decider": "Béla <Müller>", "role": "Data protection officer", "decision": "Released & filed"}
    page = reidsim.report(results, tmp_path / "a.pdf", break_even=False, **signed).html
    written = (tmp_path / "a.pdf").read_bytes()
    assert written.startswith(b"%PDF")
    assert written == pdf_of(page)
    pages = PdfReader(tmp_path / "a.pdf").pages
    text = " ".join(" ".join(each.extract_text() for each in pages).split())
    assert all(each in text for each in signed.values())
    printed = page[page.index("<body>") :].split('class="screen"')[0]
    headings = [unescape(found) for found in re.findall(r"<h2[^>]*>([^<]+)</h2>", printed)]
    captions = [plain(found) for found in re.findall(r"<(?:fig)?caption>(.*?)</(?:fig)?caption>", printed, flags=re.S)]
    assert len(headings) > 5
    assert len(captions) > 5
    assert all(each in text for each in (*headings, *captions))
    assert sum(len(each.images) for each in pages) == printed.count("<img")


def test_a_missing_library_for_pdf_is_named(shared, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xhtml2pdf", None)
    with pytest.raises(InputError, match=r"package xhtml2pdf .*reidsim\[pdf\]"):
        reidsim.report(shared / "results", tmp_path / "a.pdf", break_even=False)
    assert not (tmp_path / "a.pdf").exists()


def test_a_release_without_records_is_not_recommended(tmp_path, capsys):
    """All people have one illness, so that no release has two illnesses in each group."""
    people().assign(illness="flu").to_csv(tmp_path / "people.csv", index=False)
    limits = 'policies = ["no-attack"]\nsensitive = "illness"\nl_diversity = 2'
    text = SCENARIO.replace("DIRECTION", "both").partition("policies")[0] + limits
    (tmp_path / "patients.toml").write_text(text)
    assert command("run", tmp_path / "patients.toml", "-o", tmp_path / "results") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "no record is attacked, because every record is withheld or fully suppressed" in printed
    assert command("share", tmp_path / "results", "-o", tmp_path / "shared.csv") == 0
    assert "no record is shared" in capsys.readouterr().err
    page = plain(report_text(tmp_path / "results", break_even=False))
    assert "Recommended release" not in page
    assert "Share no record under these settings: no-attack pays 0.00 per record" in page
    assert "a file of more people, weaker limits on illness." in page
    assert "The written file shared.csv holds no record." in page
    assert "exposes no record, because it releases none" in page
