"""Audit of released files, independent of the game: cells are interpreted as a recipient of the file would."""
