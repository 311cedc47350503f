"""Audit of written files, independent of the game: cells are read as a recipient of the file reads them."""
