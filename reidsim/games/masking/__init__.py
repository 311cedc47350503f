"""The masking game of Wan et al. 2021: subjects pick the attributes they share, an adversary attacks in stages."""
