"""Additional figures of record-level runs, against the paper's algorithms."""

from dataclasses import replace

import pytest
from hypothesis import given
from small_games import game_of
from small_scenario import releases, study_of
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.kinds.tables.outcomes import figure_tables


def close(small):
    return {"rel": 1e-9, "abs": 1e-9 * small.scale[0]}


def described(small, i):
    return ", ".join(f"{name}{value}" for name, value in zip(small.names, small.records[i], strict=True))


def inline(small, i):
    return (
        "{ " + ", ".join(f'{name} = "{name}{v}"' for name, v in zip(small.names, small.records[i], strict=True)) + " }"
    )


@given(small=releases())
@examples(25)
def test_the_whole_strategy_space_of_a_record_is_listed_with_both_payoffs(small):
    with study_of(small, policies=["basic"], more=f"[figures]\nstrategies = {inline(small, 0)}\n") as study:
        table = figure_tables(study).strategies
    paper = small.paper(0)
    assert table["strategy"].tolist() == [",".join(map(str, g)) for g in paper.strategies]
    assert set(table["record"]) == {described(small, 0)}
    for (_, row), g in zip(table.iterrows(), paper.strategies, strict=True):
        publisher, adversary, attacks = paper.play(g)
        assert row["publisher_payoff"] == pytest.approx(publisher, **close(small))
        assert row["adversary_payoff"] == pytest.approx(adversary, **close(small))
        assert row["attacked"] == attacks
        assert row["success_probability"] == paper.pi(g)
        assert row["generalization_intensity"] == pytest.approx(paper.intensity(g))
        assert row["utility"] == pytest.approx(replace(paper, V=1.0).v(g), abs=1e-12)
        for name, level, value, levels in zip(small.names, g, small.records[0], small.hierarchies, strict=True):
            assert row[name] == (f"{name}{value}" if level == 0 else f"{name}/{level}/{levels[level][value]}")


LEVELS = ((0, 1, 2), (0, 0, 1), (0, 0, 0))
EXAMPLE = game_of([LEVELS], [(0,), (1,), (2,)], [(0,), (2,)], benefit=10.0, loss=6.0, gain=6.0, cost=1.0)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ('{ a = "a9" }', r"small.toml: figures.strategies: row 1, column 'a': value outside the categories"),
        ('{ b = "a0" }', r"figures.strategies: attribute missing; found 'a'"),
        ('{ a = "a0", b = "x" }', r"figures.strategies: no such attribute; found 'b'"),
    ],
)
def test_a_record_to_look_at_must_be_one_of_the_domain(record, message):
    more = f"[figures]\nstrategies = {record}\n"
    # The error is raised when the study is built, before any solver runs.
    with pytest.raises(InputError, match=message), study_of(EXAMPLE, policies=["basic"], more=more):
        pass
