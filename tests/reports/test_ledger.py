"""The ledger page: a summary first, then failures, then the folded remainder."""

import re

import pytest
from reproduction.ledger import CALIBRATED, NOT_REPRODUCED, REPRODUCED, Found, compared, ledger_page


def test_a_calibrated_number_counts_as_reproduced_nowhere(monkeypatch) -> None:
    rows = [
        {"key": "fitted", "what": "fitted", "value": 1.0, "tolerance": 0.1, "calibrated": True},
        {"key": "claim", "what": "claim", "value": "yes", "calibrated": True},
        {"key": "missed", "what": "missed", "value": 1.0, "tolerance": 0.1, "calibrated": True},
        {"key": "free", "what": "free", "value": 1.0, "tolerance": 0.1},
    ]
    printed = {"how": "How.", "parts": [{"where": "Table 1", "printed": rows}]}
    monkeypatch.setattr("reproduction.ledger.read_toml", lambda path: printed)
    ledger = compared("first", "A et al. 2001", {"fitted": 1.05, "claim": "yes", "missed": 2.0, "free": 1.0})
    assert [each.verdict for each in ledger.entries] == [CALIBRATED, CALIBRATED, NOT_REPRODUCED, REPRODUCED]
    page = ledger_page([ledger])
    assert page.startswith("# Reproduction ledger\n\n1 of 4 printed numbers")
    assert "| A et al. 2001 | 1 | 2 | 1 |" in page
    shown = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)
    (calibrated,) = re.findall(r"^Calibrated:\n\n(.*?)\n\n", shown, flags=re.MULTILINE | re.DOTALL)
    assert "fitted **1.00→1.05**" in calibrated
    assert "missed" not in calibrated


def test_what_is_computed_is_compared_by_the_key_of_what_is_printed(monkeypatch) -> None:
    rows = [
        {"key": "number", "what": "a number", "value": 1.0, "tolerance": 0.1, "note": "printed so"},
        {"key": "claim", "what": "a claim", "value": "never"},
    ]
    printed = {"how": "How.", "parts": [{"where": "Table 1", "form": "{:.1f}", "printed": rows}]}
    monkeypatch.setattr("reproduction.ledger.read_toml", lambda path: printed)

    def verdicts(**found) -> list[str]:
        return [entry.verdict for entry in compared("first", "A et al. 2001", found).entries]

    assert verdicts(number=1.05, claim="never", more=3.0) == [REPRODUCED, REPRODUCED]
    assert verdicts(number=1.15, claim="once") == [NOT_REPRODUCED, NOT_REPRODUCED]
    # A larger error of the computed number replaces the tolerance; a claim's result replaces the comparison of words.
    assert verdicts(number=Found(1.15, error=0.2), claim=Found("not once", holds=True)) == [REPRODUCED, REPRODUCED]
    # No tolerance accepts every number: at most a quarter of the number plus half a unit of its last digit.
    assert verdicts(number=Found(1.31, error=9.0), claim="never")[0] == NOT_REPRODUCED
    assert verdicts(number=Found(0.0, error=9.0), claim="never")[0] == NOT_REPRODUCED
    number, _ = compared("first", "A et al. 2001", {"number": Found(1.0, note="three"), "claim": "never"}).entries
    assert number.cells == ("Table 1", "a number", "1.0", "1.0", "three; printed so")
    assert number.verdict == REPRODUCED
    with pytest.raises(KeyError, match="claim"):
        verdicts(number=1.0)
