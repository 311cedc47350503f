"""The sequential attack of Xia et al. 2015: random attacks, and an oracle in plain Python."""
