"""Scenarios in which people decide whether to join a genomic database."""
