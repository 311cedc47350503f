"""Lay out results as tables, figures and report pages."""
