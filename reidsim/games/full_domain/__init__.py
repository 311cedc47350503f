"""The game at dataset level: one generalization for all records, and suppression of some (Prasser et al. 2017)."""
