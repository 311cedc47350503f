"""A guard for tests over what is found: over nothing, they would all pass."""


def at_least(least, found):
    """Return what was found as a list, of which there must be so many: files, keys, rows, names.

    The number is what there was when the test was written, or a little less, so that a search that misses most of it is
    told.
    """
    found = list(found)
    assert len(found) >= least, f"found {len(found)}; expected {least} or more"
    return found
