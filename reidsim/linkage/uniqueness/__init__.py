"""Who is unique in the population: estimated from a sample, known from the population, or given."""
