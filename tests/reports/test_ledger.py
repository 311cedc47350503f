"""The page of the ledger begins with a summary, says what does not reproduce, and folds the rest."""

import re

from reidsim.reports.ledger import Entry, Ledger, ledger_page


def entry(what: str, ours: float) -> Entry:
    return Entry("Table 1", what, 1.0, ours, tolerance=0.1)


def test_the_page_counts_by_paper_and_folds_all_numbers() -> None:
    one = Ledger("first", "A et al. 2001, Title, Place", "How.", [entry("near", 1.05), entry("far", 2.0)])
    other = Ledger("second", "B et al. 2002, Title", "How.", [entry("same", 1.0)])
    page = ledger_page([one, other])
    summary, *papers = re.split(r"^## ", page, flags=re.MULTILINE)
    assert "2 of 3 printed numbers" in summary
    assert "| [first](#first) | A et al. 2001 | 1 | 1 |" in summary
    assert "| [second](#second) | B et al. 2002 | 1 | 0 |" in summary
    shown = [re.sub(r"<details.*?</details>", "", paper, flags=re.DOTALL) for paper in papers]
    assert "| Table 1 | far | 1.00 | 2.00 |  |" in shown[0]
    assert not any("near" in text or "same" in text for text in shown)
    assert "Not reproduced" not in shown[1]
    folded = [re.findall(r"^\| Table 1 \| (\w+) \|", paper, flags=re.MULTILINE) for paper in papers]
    assert folded == [["far", "near"], ["same"]]
