"""Scenarios that assess the risks of a release under background knowledge."""
