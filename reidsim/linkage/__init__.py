"""Record linkage: group sizes and success probabilities."""
