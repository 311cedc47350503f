"""Draft a scenario with hierarchies from a user's table."""
