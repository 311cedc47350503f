"""Scenarios with case records released in periods; one generalization per table."""
