"""Records, generalization hierarchies, and strategy spaces: the possible releases of each record."""
