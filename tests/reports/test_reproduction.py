"""The papers' ledgers: the committed page and the stored study of Wan et al. 2021."""

import json
import re
from dataclasses import replace

import pytest
import reproduce
from pages import DOCS
from reproduction import wan2015
from reproduction.ledger import NOT_REPRODUCED, Found, ledger_page
from reproduction.sensitivity_wan2021 import read_study

import reidsim

pytestmark = pytest.mark.deep

# Maps of 3,750 games, which take half of the ledgers' time; tests/batch/test_paper_sweeps.py checks points of them.
MAPS = (
    "seldom attacked", "seldom attacked whatever L", "milder", "milder whatever L", "attacked less by V",
    "attacked less by c",
)  # fmt: skip


@pytest.fixture(scope="module")
def ledgers():
    """Return the ledger of each paper, without the maps of Wan et al. 2015."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wan2015, "_sensitivity", lambda study: dict.fromkeys(MAPS, Found("left out", holds=False)))
        return dict(zip(reproduce.PAPERS, reproduce.reproduce(), strict=True))


def lists_of(page, paper):
    """Return the entries of the lists of a paper's section, in order."""
    (section,) = (part for part in re.split(r"^## ", page, flags=re.MULTILINE) if part.startswith(f"{paper}\n"))
    return [" ".join(entry.split()) for entry in re.findall(r"^- .*(?:\n  .*)*", section, flags=re.MULTILINE)]


@pytest.mark.parametrize("paper", reproduce.PAPERS)
def test_the_committed_page_has_the_numbers_and_verdicts_of_each_paper(ledgers, paper):
    """After a change of a ledger, run `python tools/reproduce.py -o docs/reference/reproduction.md`."""
    committed = (DOCS / "reference/reproduction.md").read_text(encoding="utf-8")
    found, expected = (lists_of(page, paper) for page in (ledger_page([ledgers[paper]]), committed))
    if paper == "wan2015":
        found, expected = ([each for each in each_of if "Sensitivity" not in each] for each_of in (found, expected))
    assert found == expected != []


STUDIED = ("publisher_payoff", "utility", "risk", "usefulness", "usefulness_fairness", "privacy_fairness")


@pytest.mark.parametrize(
    ("scenario", "point"),
    [
        ("wan2021-sensitivity", {"economics.loss": 400.0}),
        ("wan2021-robustness", {"economics.cost": 40.0, "beliefs.cost": 30.0}),
    ],
)
def test_the_study_is_what_its_scenarios_give(scenario, point):
    """Check a point's first draw, for fast policies that share tables with the others."""
    policies = ["opt-in"] if scenario == "wan2021-robustness" else ["opt-in", "random-masking"]
    overrides = {"replications": 1, "subjects.policies": policies, "sweep.one_at_a_time": []}
    overrides["sweep.values"] = {key: [value] for key, value in point.items()}
    found = reidsim.run(scenario, overrides=overrides).summary
    found = found.groupby(level="policy").mean()
    study = read_study()
    kept = study[(study["scenario"] == scenario) & (study["replication"] == 0)]
    at = kept["point"].map(lambda text: point.items() <= json.loads(text).items())
    for policy, row in kept[at & kept["policy"].isin(policies)].set_index("policy").iterrows():
        assert found.loc[policy, list(STUDIED)].tolist() == pytest.approx(row[list(STUDIED)].tolist(), abs=1e-12)


def test_nothing_computed_passes_for_a_number_that_is_not_nothing(ledgers):
    """Zero risk, zero attacks or a 100 % reduction reproduce no other printed number."""
    for ledger in ledgers.values():
        for entry in ledger.entries:
            if isinstance(entry.printed, str):
                continue
            nothing = 100.0 if "reduction" in entry.what else 1.0 if "privacy, mean" in entry.what else 0.0
            if "standard deviation over all 81" in entry.what:
                nothing = 0.0
            assert replace(entry, ours=nothing).verdict == NOT_REPRODUCED or entry.printed == nothing, entry
