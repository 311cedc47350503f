"""Records, generalization hierarchies, and strategy spaces.

A strategy space holds the possible releases of each record.
"""
