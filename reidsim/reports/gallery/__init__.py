"""The gallery of bundled scenarios."""
