"""Populations drawn attribute by attribute from published shares given earlier attributes."""
