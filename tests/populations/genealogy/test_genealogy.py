"""Genealogies as columns, their invariants, and their files."""

import dataclasses

import numpy as np
import pytest
from pyarrow import parquet

from reidsim.core.errors import InputError
from reidsim.populations.catalogue import genealogy_table, read_population_file, write_table
from reidsim.populations.genealogy.genealogy import MAN, Mutations, simulate


@pytest.fixture
def genealogy(villages, parameters_of):
    return simulate(parameters_of(villages), 3)


def test_men_of_generations(genealogy):
    men = {row for row in range(len(genealogy)) if genealogy.sex[row] == MAN}
    of = {g: {row for row in men if genealogy.generation[row] == g} for g in range(5)}
    assert set(genealogy.living().tolist()) == of[2] | of[3] | of[4]
    assert set(genealogy.living(1).tolist()) == of[4]
    assert set(genealogy.living(99).tolist()) == men
    assert (np.diff(genealogy.living(5)) > 0).all()
    assert genealogy.living(5, women=True).tolist() == list(range(len(genealogy)))


# Invariants


def same(first, second):
    for field in dataclasses.fields(first):
        a, b = getattr(first, field.name), getattr(second, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, field.name
            np.testing.assert_array_equal(a, b)
        elif isinstance(a, Mutations):
            same(a, b)
        else:
            assert a == b, field.name


def test_a_file_brings_back_the_same(genealogy, one_village, tmp_path):
    for number, each in enumerate([genealogy, simulate(one_village(10, 1), 1)]):
        path = tmp_path / "new" / f"{number}.parquet"
        write_table(path, genealogy_table(each))
        same(read_population_file(path), each)


@pytest.mark.parametrize("column", ["wealth", "surname", "A", "mutations"])
def test_a_genealogy_that_lacks_a_column(genealogy, tmp_path, column):
    path = tmp_path / "bad.parquet"
    parquet.write_table(genealogy_table(genealogy).drop_columns([column]), path)
    with pytest.raises(InputError, match="metadata and columns of the file do not match") as caught:
        read_population_file(path)
    assert caught.value.source == str(path)
