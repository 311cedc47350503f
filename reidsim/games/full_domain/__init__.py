"""Full-domain games: one generalization for all records, with suppression.

Follows Prasser et al. 2017.
"""
