"""The sequential attack of Xia et al. 2015 as its factored Markov decision process, solved by a linear program.

An independent oracle of `reidsim.adversaries.sequential` and of its solvers: the paper's variables and transitions, and
one program over all states that can be reached. It takes from the package the parameters of an attack alone.
"""
