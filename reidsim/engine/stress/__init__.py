"""Stress tests: what uncertain parameters do to the outcomes, and which choice survives them."""
