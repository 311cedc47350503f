import numpy as np
import pandas as pd
import pytest
from full_domain_oracle import datasets, game_of
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.populations.population import UNKNOWN, Attribute, Domain, Population
from reidsim.releases.records import records_of, redraw_top_code, released_class_sizes, released_table, select_columns


@given(datasets(same_prices=True, risk="prosecutor"), st.data())
def test_a_released_table_tells_the_class_sizes_at_its_node(small, data):
    lattice = game_of(small).lattice
    node = data.draw(st.integers(0, lattice.size - 1))
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=small.n, max_size=small.n)))
    table = released_table(lattice, np.where(kept, node, -1), np.arange(small.n))
    assert (table.astype("str")[~kept] == "*").all(axis=None)
    levels = lattice.levels(node)
    expected = [
        sum(small.generalized(small.records[j], levels) == small.generalized(row, levels) for j in np.flatnonzero(kept))
        if keep
        else 0
        for row, keep in zip(small.records, kept, strict=True)
    ]
    assert released_class_sizes(table).tolist() == expected


DOMAIN = Domain((Attribute("age", ("88", "89", "90", "91", "92")), Attribute("sex", ("F", "M"))))


def population(counts):
    cells = np.array(list(counts), dtype=np.int32)
    return Population.from_records(DOMAIN, cells, np.array(list(counts.values())))


def test_a_table_of_counts_becomes_one_row_per_person():
    frame = records_of(population({(0, 1): 2, (3, 0): 1}))
    assert frame.to_dict("list") == {"age": ["88", "88", "91"], "sex": ["M", "M", "F"]}


def test_expected_counts_are_not_people():
    with pytest.raises(InputError, match="expected counts cannot be converted to individuals"):
        records_of(population({(0, 1): 2.5}))


def test_columns_take_the_attributes_names_and_labels():
    frame = pd.DataFrame({"Alter": [" 88", "91 "], "Geschlecht": ["w", "M"], "Other": ["x", "y"]})
    chosen = select_columns(
        frame, {"age": "Alter", "sex": "Geschlecht"}, {"sex": {"w": "F", "M": "M"}.get}, "patients.csv"
    )
    assert chosen.to_dict("list") == {"age": ["88", "91"], "sex": ["F", "M"]}


def test_only_values_at_the_top_code_are_redrawn_and_only_from_that_age_on():
    people = population({(0, 0): 1000, (2, 0): 1, (4, 0): 3, (3, 1): 5})
    records = np.array([[0, 0], [1, 1], *[[2, 0]] * 4000, [2, 1], [UNKNOWN, 0]], dtype=np.int32)
    redrawn = redraw_top_code(people, records, "age", 90, np.random.default_rng(8))
    assert redrawn[:2].tolist() == records[:2].tolist()
    assert redrawn[-2].tolist() == [3, 1]  # the only men of 90 or more are 91
    assert redrawn[-1].tolist() == [UNKNOWN, 0]
    drawn = redrawn[2:-2, 0]
    assert set(drawn.tolist()) == {2, 4}
    # A quarter of the women of 90 or more are 90: 5 standard errors of 4,000 draws (exceeded by chance in 6e-7).
    assert abs((drawn == 2).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)


def test_a_top_coded_record_that_nobody_matches_is_told():
    record = np.array([[2, 1]], dtype=np.int32)
    with pytest.raises(InputError, match=r"row 1: nobody in population 'population' matches a record.*sex = M"):
        redraw_top_code(population({(4, 0): 1}), record, "age", 90, np.random.default_rng(8))
