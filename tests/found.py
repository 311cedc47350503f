"""Guard tests against empty collections, over which every loop would pass."""


def at_least(least, found):
    """Return the items found as a list; fail if there are fewer than `least`.

    `least` is the number of files, keys, rows or names when the test was written, or slightly fewer, so that a search
    that misses most of them fails.
    """
    found = list(found)
    assert len(found) >= least, f"found {len(found)}; expected {least} or more"
    return found
