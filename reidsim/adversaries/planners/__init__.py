"""Planners that scenarios name, one module each; every module in this folder is imported with the registry."""
