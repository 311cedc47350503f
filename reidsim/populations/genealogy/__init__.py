"""Simulated families with Y-chromosome haplotypes: who descends from whom, and what people share with whom."""
