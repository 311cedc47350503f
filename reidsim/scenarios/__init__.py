"""Scenario files: schema, loading, and turning one into a configured study."""
