"""Batches: many runs of a scenario, whose outcomes survive errors and interrupts.

A design (replications, a sweep over keys, uncertain parameters) is turned into tasks. An executor runs the tasks, a
journal stores their outcomes, and tables and statistics are computed from the outcomes.
"""

from reidsim.engine.batch.design import Design, design_of, is_batch
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.folder import read_runs
from reidsim.engine.batch.runner import point_tables

__all__ = ["Design", "Executor", "design_of", "is_batch", "point_tables", "read_runs"]
