"""Cross-play of a scenario: every defender of its game against every adversary that can play in it."""

from reidsim.engine.cross_play.result import CrossPlayResult
from reidsim.engine.cross_play.run import cross_play, cross_play_loaded

__all__ = ["CrossPlayResult", "cross_play", "cross_play_loaded"]
