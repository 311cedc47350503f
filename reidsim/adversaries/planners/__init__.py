"""Planners that a scenario can name, one module each.

The registry imports every module in this folder.
"""
