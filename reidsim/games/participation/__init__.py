"""Games of joining a genomic database in which relatives expose each other."""
