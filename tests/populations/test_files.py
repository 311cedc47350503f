import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.populations.catalogue import population_table, read_population_file, write_table
from reidsim.populations.population import Attribute, Domain, Individuals, Population

DOMAIN = Domain((Attribute("a", ("a0", "a1", "a2")), Attribute("b", ("b0", "b1"))))
MADE = {"recipe": "town", "seed": 3}
rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=15)


@given(people=rows, counted=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cells_come_back_as_they_were(people, counted, tmp_path):
    counts = None if counted else np.full(len(people), 0.5)
    population = Population.from_records(DOMAIN, np.array(people, dtype=np.int32), counts, name="town", source="hand")
    path = tmp_path / "town.parquet"
    path.unlink(missing_ok=True)
    write_table(path, population_table(population, MADE))
    back = read_population_file(path)
    assert back.domain == DOMAIN
    assert (back.cells == population.cells).all()
    assert (back.counts == population.counts).all()
    assert back.counts.dtype == population.counts.dtype
    assert (back.name, back.source) == ("town", "hand")


@given(people=st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 1)), min_size=1, max_size=15))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_individuals_come_back_with_what_they_lack(people, tmp_path):
    individuals = Individuals(DOMAIN, np.array(people, dtype=np.int32), name="town")
    path = tmp_path / "town.parquet"
    path.unlink(missing_ok=True)
    write_table(path, population_table(individuals, MADE))
    back = read_population_file(path)
    assert back.domain == DOMAIN
    assert (back.codes == individuals.codes).all()


def test_nothing_is_overwritten_and_nothing_left_half_written(tmp_path, monkeypatch):
    population = Population.from_records(DOMAIN, np.array([[0, 1]], dtype=np.int32))
    taken = tmp_path / "taken.parquet"
    taken.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="exists already"):
        write_table(taken, population_table(population, MADE))
    assert taken.read_text(encoding="utf-8") == "mine"

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(InputError, match="the disk is full; nothing was written"):
        write_table(tmp_path / "new.parquet", population_table(population, MADE))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken.parquet"]


def test_files_of_others_are_told_apart(tmp_path):
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": ["x"]}), path)
    with pytest.raises(InputError, match=r'the file was not written by reidsim populate .*kind = "counts"'):
        read_population_file(path)
    (tmp_path / "text.parquet").write_text("a,b", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as a Parquet file"):
        read_population_file(tmp_path / "text.parquet")
    with pytest.raises(InputError, match="no such file"):
        read_population_file(tmp_path / "none.parquet")


@pytest.mark.parametrize("change", [{"attributes": ["a", "c"]}, {"categories": {"a": ["a0"], "b": ["b0", "b1"]}}])
def test_a_file_that_does_not_fit_what_it_says(tmp_path, change):
    population = Population.from_records(DOMAIN, np.array([[0, 1], [2, 0]], dtype=np.int32))
    table = population_table(population, MADE)
    content = json.loads(table.schema.metadata[b"reidsim"]) | change
    path = tmp_path / "changed.parquet"
    pq.write_table(table.replace_schema_metadata({b"reidsim": json.dumps(content).encode()}), path)
    with pytest.raises(InputError, match=r"changed\.parquet"):
        read_population_file(path)
