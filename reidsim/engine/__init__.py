"""Run scenarios, and keep their results."""
