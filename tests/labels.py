"""Counts of a population by the labels of its cells."""


def by_label(population):
    """Return the count of each cell, by the tuple of its labels."""
    cells = population.domain.decode(population.cells).astype(str).itertuples(index=False, name=None)
    return dict(zip(cells, population.counts.tolist(), strict=True))
