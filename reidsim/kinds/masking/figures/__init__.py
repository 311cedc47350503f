"""Figures of masking games, after Wan et al. 2021."""
