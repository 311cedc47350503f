"""The sequential attack of Xia et al. 2015 as a factored MDP and linear program.

An independent oracle of `reidsim.adversaries.sequential` and its solvers: it uses the paper's variables and
transitions, and one linear program over all reachable states. From the package it takes only the parameters of an
attack.
"""
