"""People decide whether to join a genomic database, in which relatives expose each other."""
