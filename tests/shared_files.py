"""Column declarations of shared files for tests."""

from reidsim.reports.shared.records import Kept


def unknown(*names, identifiers=()):
    """Return kept columns, some of them identifiers, that outsiders do not know."""
    return Kept(names, identifiers, unknown_to_outsiders=(*names, *identifiers))
