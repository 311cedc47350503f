"""Records, hierarchies and the strategy spaces over them: the releases of a record."""
