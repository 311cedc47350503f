"""Stress tests: effects of uncertain parameters on outcomes, and robust choices."""
