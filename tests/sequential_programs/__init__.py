"""The sequential attack of Xia et al. 2015 as its factored Markov decision process, solved by linear programs.

An independent oracle of `reidsim.adversaries.sequential`: the paper's variables and transitions, one program over all
states that can be reached, and the paper's Two-Level program. The benchmark `fmdp.py` compares their speed with that
of backward induction.
"""
