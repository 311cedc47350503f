"""Genealogies with Y-chromosome haplotypes, simulated as in Wan et al. 2021."""
