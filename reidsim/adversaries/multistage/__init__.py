"""The multi-stage attack of Wan et al. 2021: infer masked attributes, then link."""
