"""Games with a search for a person's row: directions "person" and "both"."""
