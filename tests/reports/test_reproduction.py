"""The papers' ledgers: printed numbers, failures to reproduce, the committed page."""

import json
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import reproduce
from pages import DOCS
from reproduction.ledger import CALIBRATED, NOT_REPRODUCED, REPRODUCED
from reproduction.sensitivity_wan2021 import read_study

import reidsim

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module", autouse=True)
def _each_computed_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "PAPERS", {paper: cache(make) for paper, make in reproduce.PAPERS.items()})
        yield


def ledger_of(paper):
    (ledger,) = reproduce.reproduce([paper])
    return ledger


def test_the_committed_page_is_what_its_command_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["reproduce.py", "-o", str(tmp_path / "reproduction.md")])
    reproduce.main()
    written = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert written == (DOCS / "reproduction.md").read_text(encoding="utf-8")


# Prasser et al. 2017.

# Claims of the paper whose result depends on the draw of ZIP codes or on the machine.
NOT_OF_2017 = {
    "every method pays more than Safe Harbor while G = L < 1,200",
    "without population, full-domain pays more than record-level",
    "speedup by pruning at 300 and 2,000, in time",
    "full-domain is faster than record-level",
    "No-Attack by class sizes saves time",
}


def test_the_ledger_reproduces_what_it_says():
    ledger = ledger_of("prasser2017")
    assert ledger.scenario == "prasser2017"
    assert {entry.what for entry in ledger.entries if entry.verdict != REPRODUCED} == NOT_OF_2017
    assert len(ledger.entries) == 27


# Wan et al. 2021.

# Table 2: mean over 1,000 subjects of payoff, utility and privacy, each with its standard deviation over subjects. The
# sign of the second payoff is a printing error: 100 x .298 - 150 x (1 - .8141) = +1.92.
TABLE_2 = {
    "no-protection": ((-13.31, 57.65), (1.0, 0.0), (0.2446, 0.3844)),
    "demographics-only": ((1.92, 33.38), (0.298, 0.0), (0.8141, 0.2225)),
    "random-opt-in": ((-0.62, 11.96), (0.043, 0.2029), (0.9672, 0.173)),
    "random-masking": ((13.83, 12.50), (0.1472, 0.1032), (0.9941, 0.0637)),
    "opt-in": ((21.64, 35.85), (0.301, 0.4587), (0.9436, 0.1271)),
    "masking": ((85.22, 7.23), (0.8599, 0.0746), (0.9948, 0.0194)),
    "no-attack-masking": ((84.94, 7.22), (0.8494, 0.0722), (1.0, 0.0)),
    "one-stage-masking": ((90.63, 5.78), (0.9153, 0.0623), (0.994, 0.0209)),
}
DRAWS = 100


def mean_of(ledger, policy, measure):
    (entry,) = (entry for entry in ledger.entries if entry.what == f"{policy}: {measure}, mean over subjects")
    return entry.ours


@pytest.mark.parametrize("policy", TABLE_2)
def test_the_scenario_gives_the_printed_table_within_its_errors(policy):
    """Compare one printed draw with a hundred: deviation s sqrt(1/1000 (1 + 1/100)).

    Three standard deviations are allowed, and .003 more for the spread of the weights between draws of the tables.
    """
    ledger = ledger_of("wan2021")
    assert f"means over {DRAWS} draws" in ledger.how
    slacks = {"payoff": 0.3, "utility": 0.003, "privacy": 0.003}
    for (measure, slack), (printed, spread) in zip(slacks.items(), TABLE_2[policy], strict=True):
        allowed = 3 * spread * np.sqrt((1 + 1 / DRAWS) / 1000) + slack
        assert mean_of(ledger, policy, measure) == pytest.approx(printed, abs=allowed)


STUDIED = ("publisher_payoff", "utility", "risk", "usefulness", "usefulness_fairness", "privacy_fairness")


@pytest.mark.parametrize(
    ("scenario", "point"),
    [
        ("wan2021", {}),
        ("wan2021-sensitivity", {"economics.loss": 400.0}),
        ("wan2021-robustness", {"economics.cost": 40.0, "beliefs.cost": 30.0}),
        ("wan2021-settings", {"subjects.weights": "uniform"}),
    ],
)
def test_the_study_is_what_its_scenarios_give(scenario, point):
    """Check a point's first draw, for fast policies that share tables with the others."""
    policies = ["opt-in"] if scenario == "wan2021-robustness" else ["opt-in", "random-masking"]
    overrides = {"replications": 1, "subjects.policies": policies}
    if point:
        overrides |= {"sweep.values": {key: [value] for key, value in point.items()}, "sweep.one_at_a_time": []}
    found = reidsim.run(scenario, overrides=overrides).summary
    found = found.groupby(level="policy").mean()
    study = read_study()
    kept = study[(study["scenario"] == scenario) & (study["replication"] == 0)]
    at = kept["point"].map(lambda text: point.items() <= json.loads(text).items())
    for policy, row in kept[at & kept["policy"].isin(policies)].set_index("policy").iterrows():
        assert found.loc[policy, list(STUDIED)].tolist() == pytest.approx(row[list(STUDIED)].tolist(), abs=1e-12)


# Xia et al. 2021, at the tolerances of the reference.


@pytest.fixture(scope="module")
def entries():
    return list(ledger_of("xia2021").entries)


def ours(entries, *parts: str) -> list[float]:
    return [float(entry.ours) for entry in entries if all(part in entry.what for part in parts)]


# Printed, voter registration: quartiles of the reduction of marketer risk by n (Table 3), and of overall risk by p_m,
# p_c, p_fm and p_cu (Table 4).
PRINTED = {
    ("Table 3", "n = 1,000"): (67.47, 86.78, 93.86),
    ("Table 3", "n = 4,000"): (88.16, 94.91, 97.87),
    ("Table 3", "n = 7,000"): (92.22, 96.86, 98.67),
    ("Table 3", "n = 20,000"): (95.83, 98.38, 99.32),
    ("Table 3", "n = 40,000"): (96.63, 98.95, 99.57),
    ("Table 4", "0.2/0.2/0.2/0.2"): (42.42, 91.18, 96.84),
    ("Table 4", "0.5/0.5/0.5/0.5"): (37.85, 90.38, 95.69),
    ("Table 4", "0.8/0.8/0.8/0.8"): (30.20, 88.36, 94.59),
    ("Table 4", "0.5/0.2/0.8/0.5"): (41.20, 95.56, 98.51),
    ("Table 4", "0.2/0.2/0.5/0.8"): (65.21, 95.47, 98.46),
}
QUARTILES = {"q1": "first quartile", "median": "median", "q3": "third quartile"}
# Differences of a second reconstruction from the same public figures (the reference page), of medians and third
# quartiles: the basis of the tolerances. MISSED lists the values outside the tolerances.
MISSED = {
    *((f"n = {size}", "q1") for size in ("1,000", "7,000", "20,000", "40,000")),
    ("n = 1,000", "q3"),
    ("n = 40,000", "median"),
    *((row, "q1") for table, row in PRINTED if table == "Table 4"),
}


def tolerance_of(entries, table, adversary, quartile):
    """Return the largest tolerance of an adversary and quartile in a table."""
    return max(
        entry.tolerance
        for entry in entries
        if entry.where == table
        and entry.what.startswith(adversary)
        and entry.what.endswith(f" risk, {QUARTILES[quartile]}")
        and "standard deviation" not in entry.what
    )


@pytest.mark.parametrize(("table", "row"), PRINTED)
def test_voter_lists(entries, table, row):
    found = ours(entries, "voter lists", f"{row}: reduction of")
    assert len(found) == 3
    for quartile, value, printed in zip(QUARTILES, found, PRINTED[table, row], strict=True):
        # At most a quarter of the remaining risk, and half a unit of the last digit.
        most = 0.25 * (100 - printed) + 0.005
        within = abs(value - printed) <= min(tolerance_of(entries, table, "voter lists", quartile), most)
        assert within == ((row, quartile) not in MISSED), quartile
    # Even there the third quartile is within two points.
    assert abs(found[2] - PRINTED[table, row][2]) < 2


def test_what_does_not_reproduce_of_2021(entries):
    verdicts = [entry.verdict for entry in entries]
    # 37 of 79.
    assert 35 <= verdicts.count(REPRODUCED) <= 39
    failed = [entry for entry in entries if entry.verdict == NOT_REPRODUCED]
    assert all(entry.note for entry in failed)
    assert [e.what for e in failed if "voter lists" in e.what and "median" in e.what] == [
        "voter lists, n = 40,000: reduction of marketer risk, median"
    ]
    (unique,) = ledger_of("xia2021").asides
    assert [entry.verdict for entry in unique.entries] == [REPRODUCED] * 5


def test_claims_that_do_not_hold_are_not_reproduced(entries):
    (alone,) = (entry for entry in entries if "persons with journalist risk .66" in entry.what)
    assert (float(alone.ours) > 0.90) == (alone.verdict == REPRODUCED)
    (harbor,) = (each for each in ledger_of("prasser2017").entries if "every method pays more" in each.what)
    least = float(str(harbor.ours).split()[1])
    assert (least > 0) == (harbor.verdict == REPRODUCED)


def test_numbers_that_inputs_were_chosen_for_are_calibrated(entries):
    """Seed (Wan 2015), discount (Xia 2015), Tennesseans and Twitter data (Xia 2021)."""
    found = {
        (paper, entry.where)
        for paper in ("wan2015", "xia2015", "prasser2017", "wan2021", "xia2021")
        for entry in ledger_of(paper).entries
        if entry.verdict == CALIBRATED
    }
    assert found == {("wan2015", "Fig. 5"), ("xia2015", "Fig. 9"), ("xia2021", "Table 3")}
    for entry in entries:
        of_table_3 = entry.what.startswith(("voter lists, n = ", "Twitter, n = 1,000"))
        assert entry.calibrated == of_table_3
        assert entry.verdict != REPRODUCED or not of_table_3


def test_nothing_computed_passes_for_a_number_that_is_not_nothing():
    """Zero risk, zero attacks or a 100 % reduction reproduce no other printed number."""
    for paper in ("wan2015", "xia2015", "prasser2017", "wan2021", "xia2021"):
        for entry in ledger_of(paper).entries:
            if isinstance(entry.printed, str):
                continue
            nothing = 100.0 if "reduction" in entry.what else 1.0 if "privacy, mean" in entry.what else 0.0
            if "standard deviation over all 81" in entry.what:
                nothing = 0.0
            assert replace(entry, ours=nothing).verdict == NOT_REPRODUCED or entry.printed == nothing, entry


def test_the_reading_found_by_a_scan_gives_all_six_thresholds_and_is_not_counted():
    ledger = ledger_of("xia2015")
    (scan,) = ledger.asides
    assert [entry.ours for entry in scan.entries] == [48, 51, 14, 29, 9, 2]
    assert "found by a scan" in scan.how
    assert len(ledger.entries) == 16
