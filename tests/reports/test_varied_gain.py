"""A batch over the loss reports the gain at each point if it follows the loss."""

import re
from pathlib import Path

import pytest
from rich.console import Console

import reidsim
from reidsim.reports.illustration import figures_of
from reidsim.reports.page.report import report_text
from reidsim.reports.terminal import batch_tables

SCENARIO = """
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [5] }
[economics]
benefit = 100
loss = 300
cost = 20
[adversary]
risk = "prosecutor"
[publisher]
policies = ["basic", "no-attack"]
"""


@pytest.fixture
def batch_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age\n" + "".join(f"{20 + i % 9}\n" for i in range(14)))
    Path("six.toml").write_text(SCENARIO)

    def run(**overrides):
        given = {key.replace("__", "."): value for key, value in overrides.items()}
        result = reidsim.run_batch("six.toml", overrides=given, executor="serial")
        folder = Path(f"results-{len(list(tmp_path.iterdir()))}")
        result.save(folder)
        return result, report_text(folder)

    return run


def printed(tables):
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115 - a console of its own
    for table in tables:
        console.print(table)
    # Captions are as wide as their table.
    return " ".join(console.export_text().split())


def test_the_report_says_the_gain_of_every_point(batch_of):
    result, text = batch_of(sweep__values={"economics.loss": [60, 300, 900]})
    assert "Success gains 300" not in text
    assert "Success gains an amount equal to the loss at each point (300 in the scenario itself)" in text
    assert "<code>economics.gain</code> is not set: at each point the gain equals <code>economics.loss</code>." in text
    plain = re.sub(r"</?(span|code)[^>]*>", "", text[text.index("Best policy by point") :].split("</table>")[0])
    rows = re.findall(r'<th scope="row" class="number">(\d+)</th><td class="number">(\d+)</td>', plain)
    assert rows == [("60", "60"), ("300", "300"), ("900", "900")]
    assert "economics.gain is not set: the gain equals economics.loss at each point" in printed(
        batch_tables(result, "six")
    )
    figures = dict(figures_of(result))
    axes = figures["sweep-lines"].axes
    assert {each.get_xlabel() for each in axes} == {"Loss and gain, L = G (per record)"}
