"""Who joins a genomic database, where relatives expose each other."""
