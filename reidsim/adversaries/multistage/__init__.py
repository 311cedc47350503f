"""The attack in stages of Wan et al. 2021: infer what was not shared, then link on it."""
