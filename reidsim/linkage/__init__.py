"""What matches whom: group sizes and success probabilities."""
