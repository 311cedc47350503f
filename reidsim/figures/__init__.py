"""Draw the figures that results of every kind have, and provide drawing helpers.

Every function takes a table and returns a new `matplotlib.figure.Figure`. It does not change global state, so figures
can be drawn in any process and in any order.
"""
