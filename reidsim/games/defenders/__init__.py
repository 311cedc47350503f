"""Defenders: solvers and policies that choose the release of each record."""
