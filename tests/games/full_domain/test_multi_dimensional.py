"""Multi-dimensional recoding, against every way of splitting small domains."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from full_domain_oracle import SmallDataset, datasets, game_of, variants
from hypothesis import given

from reidsim.core.errors import InputError
from reidsim.games.full_domain import search as recoding
from reidsim.games.full_domain.search import multi_dimensional, search
from reidsim.games.record_game import Prices


def forms(small, game, regions):
    """Return the form of each record: its region's node and values."""
    nodes = [game.lattice.levels(region) for region in regions.tolist()]
    return [(node, small.generalized(row, node)) for node, row in zip(nodes, small.records, strict=True)]


@given(variants(datasets()))
def test_within_a_suppression_limit(small):
    game = game_of(small)
    best, limit = multi_dimensional(game), game.most_suppressed
    allowed = [payout for suppressed, payout in small.recodings().items() if suppressed <= limit]
    if not allowed:
        assert (best.payout, best.exact) == (0, True)
        assert (best.strategies == -1).all()
        return
    assert (best.strategies == -1).sum() <= limit
    assert best.payout <= max(allowed) + 1e-7
    assert best.bound >= max(allowed) - 1e-7
    assert best.payout >= search(game).payout - 1e-7
    assert best.payout + best.gap * game.best_case >= max(allowed) - 1e-7


@given(variants(datasets(risk="prosecutor")))
def test_records_get_in_the_release_what_was_planned(small):
    """Regions are disjoint: a form's records are all records that the form fits."""
    game = game_of(replace(small, limit=1.0))
    best = multi_dimensional(game)
    released = forms(small, game, best.regions)
    sizes = Counter(released)
    payout = 0.0
    for i, (node, values) in enumerate(released):
        fits = [j for j, row in enumerate(small.records) if small.generalized(row, node) == values]
        assert sizes[node, values] == len(fits)
        pays, _, kept = small.record(i, node)
        assert not (best.strategies[i] >= 0 and not kept)
        payout += pays if best.strategies[i] >= 0 else 0
    assert best.payout == pytest.approx(payout, abs=1e-7)


def test_cells_without_records():
    small = SmallDataset((((0, 1), (0, 0)),), ((0,), (0,), (1,)), None, (100,) * 3, (50,) * 3, (20,) * 3, (4,) * 3)
    game = replace(game_of(small), released=np.array([3, 4, 0]), prices=Prices(100, 50.0, 20.0, 4))
    best = multi_dimensional(game)
    assert best.payout == 700
    assert best.regions[:2].tolist() == [0, 0]


def test_too_many_classes_are_refused(monkeypatch):
    monkeypatch.setattr(recoding, "_MEMORY_LIMIT", 50)
    small = SmallDataset((((0, 1, 2), (0, 0, 0)),), ((0,), (1,), (2,)), None, *[(1,) * 3] * 4)
    with pytest.raises(InputError, match="too many classes for multi-dimensional recoding"):
        multi_dimensional(game_of(small))
