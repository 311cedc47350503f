"""Agents who meet round after round: publishers, data subjects and adversaries on mesa."""
