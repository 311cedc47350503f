"""Risk assessment of a given release against background knowledge."""
