"""The printed numbers of the papers beside the values that this version computes."""
