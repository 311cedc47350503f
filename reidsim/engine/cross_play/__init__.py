"""Cross-play: every defender against every adversary of a scenario."""
