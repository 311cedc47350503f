"""Genealogies as columns, their invariants, and as files."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from genealogy_figures import check_pedigree, transmitted
from pyarrow import parquet

from reidsim.errors import InputError
from reidsim.populations.files import write_table
from reidsim.populations.genealogy.genealogy import MAN, WOMAN, Mutations
from reidsim.populations.genealogy.genealogy_file import read_genealogy, to_table
from reidsim.populations.genealogy.vectorised import simulate


@pytest.fixture
def genealogy(villages, parameters_of):
    return simulate(parameters_of(villages), 3)


def changed(genealogy, column, row, value):
    """Return the genealogy with one value changed."""
    array = getattr(genealogy, column).copy()
    array[row] = value
    return dataclasses.replace(genealogy, **{column: array})


# Who


def test_men_of_generations(genealogy):
    men = {row for row in range(len(genealogy)) if genealogy.sex[row] == MAN}
    of = {g: {row for row in men if genealogy.generation[row] == g} for g in range(5)}
    assert set(genealogy.males_of([1]).tolist()) == of[1]
    assert set(genealogy.males_of([-1, 0]).tolist()) == of[4] | of[0]
    assert set(genealogy.living().tolist()) == of[2] | of[3] | of[4]
    assert set(genealogy.living(1).tolist()) == of[4]
    assert set(genealogy.living(99).tolist()) == men
    assert genealogy.males_of([]).tolist() == []
    assert (np.diff(genealogy.males_of(range(5))) > 0).all()


@pytest.mark.parametrize("generation", [5, -6])
def test_generation_that_is_not_there(genealogy, generation):
    with pytest.raises(InputError) as caught:
        genealogy.males_of([generation])
    assert (caught.value.where, caught.value.found) == ("generations", generation)


def test_transmitted_haplotypes(genealogy):
    men = genealogy.males_of(range(4))
    asked = np.concatenate([men[::-1], men[:3]])
    expected = genealogy.haplotypes[asked].copy()
    for at, row in enumerate(asked):
        for k in np.flatnonzero(genealogy.mutations.individual == row):
            assert expected[at, genealogy.mutations.locus[k]] == genealogy.mutations.before[k]
            expected[at, genealogy.mutations.locus[k]] = genealogy.mutations.after[k]
    np.testing.assert_array_equal(transmitted(genealogy, asked), expected)
    assert (expected != genealogy.haplotypes[asked]).any()


# Invariants


def child_of(genealogy, sex):
    return int(np.flatnonzero((genealogy.generation == 2) & (genealogy.sex == sex))[0])


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("father", -1, "an individual with one parent"),
        ("father", 10**6, "a father who is not in the genealogy"),
        ("mother", -2, "a mother who is not in the genealogy"),
        ("father", 1, "a father who is not a man"),
        ("mother", 0, "a mother who is not a woman"),
        ("generation", 1, "a father of no earlier generation"),
        ("birth_year", 1700, "a child as old as the father"),
        ("surname", 2, "a surname that is not the father's"),
        ("haplotypes", 9, "a haplotype that differs from the father's by more than his mutations"),
        ("haplotypes", 0, "a haplotype that does not go with the sex"),
    ],
)
def test_broken_pedigree(genealogy, column, value, problem):
    check_pedigree(genealogy)
    son = child_of(genealogy, MAN)
    if column == "surname":
        value = (genealogy.surname[son] + 1) % 3
    # The founders in rows 0 and 1, for values of the wrong sex
    assert genealogy.sex[[0, 1]].tolist() == [MAN, WOMAN]
    with pytest.raises(InputError) as caught:
        check_pedigree(changed(genealogy, column, son, value))
    assert (caught.value.problem, caught.value.where) == (problem, f"row {son}")


def test_a_mutation_that_is_not_recorded(genealogy):
    fathers = genealogy.father[genealogy.sex == MAN]
    lost = int(np.flatnonzero(np.isin(genealogy.mutations.individual, fathers))[0])
    fewer = Mutations(*(np.delete(getattr(genealogy.mutations, f.name), lost) for f in dataclasses.fields(Mutations)))
    with pytest.raises(InputError, match="differs from the father's by more than his mutations"):
        check_pedigree(dataclasses.replace(genealogy, mutations=fewer))


def test_a_mutation_that_did_not_happen(genealogy):
    mutations = genealogy.mutations
    wrong = dataclasses.replace(mutations, before=mutations.before + 1)
    with pytest.raises(InputError, match="row 0: a mutation that does not fit the haplotype"):
        check_pedigree(dataclasses.replace(genealogy, mutations=wrong))


# Files


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


def test_table(genealogy):
    table = to_table(genealogy)
    assert table.column_names == [
        "individual", "father", "mother", "sex", "generation", "subpopulation", "surname", "birth_year", "state",
        "wealth", "rank", "A", "B", "C", "mutations",
    ]  # fmt: skip
    rows = table.to_pylist()
    assert [row["individual"] for row in rows] == list(range(len(genealogy)))
    assert {row["sex"] for row in rows} == {"F", "M"}
    at = 0
    for number, row in enumerate(rows):
        assert row["surname"] == genealogy.surnames[genealogy.surname[number]]
        assert row["state"] == genealogy.states[genealogy.state[number]]
        assert [row[locus] for locus in "ABC"] == genealogy.haplotypes[number].tolist()
        assert (row["A"] == 0) == (row["sex"] == "F")
        for mutation in row["mutations"]:
            assert genealogy.mutations.individual[at] == number
            assert mutation["locus"] == genealogy.loci[genealogy.mutations.locus[at]]
            assert (mutation["before"], mutation["after"]) == (
                genealogy.mutations.before[at],
                genealogy.mutations.after[at],
            )
            at += 1
    assert at == len(genealogy.mutations) > 0


def test_a_file_brings_back_the_same(genealogy, one_village, tmp_path):
    for number, each in enumerate([genealogy, simulate(one_village(10, 1), 1)]):
        path = tmp_path / "new" / f"{number}.parquet"
        write_table(path, to_table(each))
        same(read_genealogy(path), each)


def test_the_same_genealogy_gives_the_same_bytes(genealogy, villages, parameters_of, tmp_path):
    write_table(tmp_path / "first", to_table(genealogy))
    write_table(tmp_path / "second", to_table(simulate(parameters_of(villages), 3)))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_any_difference_changes_the_digest(genealogy):
    digests = {genealogy.content_digest()}
    for field in dataclasses.fields(genealogy):
        value = getattr(genealogy, field.name)
        if isinstance(value, np.ndarray):
            digests.add(changed(genealogy, field.name, -1, value[-1] + 1).content_digest())
        elif isinstance(value, Mutations):
            digests.add(
                dataclasses.replace(
                    genealogy, mutations=dataclasses.replace(value, locus=value.locus + 1)
                ).content_digest()
            )
        elif isinstance(value, tuple):
            digests.add(dataclasses.replace(genealogy, **{field.name: (*value, "more")}).content_digest())
        else:
            digests.add(dataclasses.replace(genealogy, **{field.name: "other"}).content_digest())
    assert len(digests) == 1 + len(dataclasses.fields(genealogy))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_genealogy(tmp_path / "nothing.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"individual,father\n0,-1\n"])
def test_a_file_that_is_no_genealogy(tmp_path, content):
    path = tmp_path / "bad.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a genealogy, or damaged") as caught:
        read_genealogy(path)
    assert caught.value.source == str(path)


def test_another_table(tmp_path):
    path = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"individual": [0]}), path)
    with pytest.raises(InputError, match="not a genealogy, or damaged"):
        read_genealogy(path)


def test_a_file_somebody_has_edited(genealogy, tmp_path):
    path = tmp_path / "villages.parquet"
    table = to_table(genealogy)
    edited = table.set_column(7, "birth_year", pa.array(genealogy.birth_year + 1))
    parquet.write_table(edited.replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(InputError, match="the file has changed since it was written") as caught:
        read_genealogy(path)
    assert caught.value.source == str(path)
