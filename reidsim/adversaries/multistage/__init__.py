"""The attack in stages of Wan et al. 2021: infer masked attributes, then link on them."""
