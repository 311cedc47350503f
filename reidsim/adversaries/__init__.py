"""Adversaries: models of attack decisions."""
