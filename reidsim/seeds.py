"""Limit of root seeds; a separate module, so that the CLI starts without numpy."""

# Tables of runs store the seed as a signed 64-bit integer.
LARGEST_SEED = 2**63 - 1
