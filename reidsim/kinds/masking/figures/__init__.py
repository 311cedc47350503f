"""Figures of data subjects who mask: those of Wan et al. 2021."""
