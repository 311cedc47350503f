"""Payoffs, best responses and equilibria; solvers and fixed policies."""
