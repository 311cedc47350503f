"""The masking game of Wan et al. 2021.

Subjects choose the attributes that they share; an adversary attacks in stages.
"""
