"""Audit of released files, independent of the game.

Cells are interpreted as a recipient of the file would.
"""
