"""Population uniqueness: estimated from a sample, counted, or given."""
