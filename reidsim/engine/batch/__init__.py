"""Batches: many runs of a scenario, none of them lost.

A design (replications, a sweep over keys, uncertain parameters) becomes tasks, an executor does them, a journal keeps
the outcomes, and tables and statistics are computed from them.
"""

from reidsim.engine.batch.design import Design, design_of, is_batch
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.folder import read_runs
from reidsim.engine.batch.runner import point_tables

__all__ = ["Design", "Executor", "design_of", "is_batch", "point_tables", "read_runs"]
