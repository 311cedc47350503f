"""Batches: many runs of a scenario, whose outcomes survive errors and interrupts.

A design (replications, a sweep over keys, uncertain parameters) is turned into tasks. An executor runs the tasks, a
journal stores their outcomes, and tables and statistics are computed from the outcomes.
"""
