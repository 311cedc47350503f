"""Whoever decides what is shared: solvers and policies behind one interface."""
