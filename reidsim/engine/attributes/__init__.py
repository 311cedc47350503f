"""Effects of each quasi-identifier."""
