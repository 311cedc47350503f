"""Cross-play: every defender against every adversary of a scenario."""

from reidsim.engine.cross_play.result import CrossPlayResult
from reidsim.engine.cross_play.run import cross_play_loaded

__all__ = ["CrossPlayResult", "cross_play_loaded"]
