"""The printed numbers of the papers, and what this version computes for each."""
