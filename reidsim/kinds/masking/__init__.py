"""Scenarios in which data subjects mask attributes of their records."""
