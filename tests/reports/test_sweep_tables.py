"""The tables of a sweep: blocks by key, at most 80 characters wide."""

import io
import itertools

import numpy as np
import pandas as pd
from rich.console import Console

from reidsim.games.outcomes import PUBLISHER_PAYOFF
from reidsim.reports.terminal import sweep_tables

ECONOMICS = {"economics": {"loss": 100, "cost": 10}}


def laid_out(values, policies, *, content=None, halves=None, one_at_a_time=()):
    """Return the lines of a sweep's tables; the measure numbers points and policies."""
    content = ECONOMICS if content is None else content
    sweep = {"values": values, "one_at_a_time": list(one_at_a_time)}
    if one_at_a_time:
        own = {key: content["economics"][key.rpartition(".")[2]] for key in values}
        points = [tuple((own | {key: value}).values()) for key in values for value in values[key]]
        points = list(dict.fromkeys(points))
    else:
        points = list(itertools.product(*values.values()))
    index = pd.MultiIndex.from_tuples(points, names=list(values))
    numbers = np.arange(len(points) * len(policies), dtype=float).reshape(len(points), -1)
    means = pd.DataFrame(numbers, index=index, columns=pd.Index(policies, name="policy"))
    page = io.StringIO()
    given_halves = means * np.nan if halves is None else means * 0 + halves
    tables = sweep_tables(PUBLISHER_PAYOFF, means, given_halves, {**content, "sweep": sweep}, "A town")
    for table in tables:
        Console(file=page, width=80).print(table)
    return page.getvalue()


def test_a_key_that_varies_has_a_row_per_value_under_its_last_part():
    page = laid_out({"economics.loss": [50.0, 1234567.0]}, ["basic"], halves=0.5)
    rows = [[cell.strip() for cell in line.strip("│┃").split("│" if "│" in line else "┃")] for line in page.splitlines()
            if "│" in line or "┃" in line]  # fmt: skip
    assert rows == [["loss", "basic"], ["50", "0.00 ± 0.50"], ["1,234,567", "1.00 ± 0.50"]]
    assert page.startswith("A town")
    assert "by loss" in page
    assert "means, with the half-width of their 95% interval" in " ".join(page.split())


def test_keys_that_change_one_at_a_time_have_a_block_each_in_ascending_order():
    values = {"economics.loss": [200.0, 100.0], "economics.cost": [10.0, 5.0]}
    page = laid_out(values, ["basic"], one_at_a_time=values)
    assert [line.split("│")[1].split() for line in page.splitlines() if line.startswith("│")] == [
        ["100"], ["200"], ["5"], ["10"],
    ]  # fmt: skip
    assert page.count("A town") == 1
    assert "by loss" in page
    assert "by cost" in page


def test_keys_that_are_crossed_have_a_block_titled_by_none_of_them():
    page = laid_out({"economics.loss": [50.0, 60.0], "economics.cost": [5.0, 10.0]}, ["basic"])
    assert "by loss" not in " ".join(page.split())
    assert [line.split("│")[1].split() for line in page.splitlines() if line.startswith("│")] == [
        ["50"], ["50"], ["60"], ["60"],
    ]  # fmt: skip


def test_policies_that_do_not_fit_on_a_line_are_continued_in_another_table():
    policies = [f"k-anonymity-{k}-no-attack" for k in range(2, 8)]
    page = laid_out({"economics.loss": [50.0, 60.0]}, policies)
    headings = [line.strip("┃").split("┃") for line in page.splitlines() if line.startswith("┃")]
    assert [cell.strip() for heading in headings for cell in heading[1:]] == policies
    assert {heading[0].strip() for heading in headings} == {"loss"}
    # Two columns of 33 characters fill a line of 80.
    for width, tables in ((33, 1), (34, 2)):
        assert laid_out({"economics.loss": [50.0]}, ["a" * width, "b" * width]).count("┏") == tables
