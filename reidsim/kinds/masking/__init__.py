"""Data subjects mask attributes of their records."""
