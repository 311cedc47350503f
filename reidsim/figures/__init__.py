"""Figures that results of every kind have, each drawn from one table, and what the figures of kinds are made with.

Every function takes a table and returns a `matplotlib.figure.Figure` of its own: nothing is kept, shown or set for
other figures, so they can be drawn in any process and in any order.
"""
