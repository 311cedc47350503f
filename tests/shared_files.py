"""Columns of shared files, declared as tests need them."""

from reidsim.reports.shared.kept import Kept


def unknown(*names, identifiers=()):
    """Return kept columns, some of them identifiers, that no outsider knows."""
    return Kept(names, identifiers, unknown_to_outsiders=(*names, *identifiers))
