"""The range of root seeds, apart from the random streams so that the command line starts without numpy."""

# Tables of runs hold the seed as a whole number of 64 bits with a sign.
LARGEST_SEED = 2**63 - 1
