"""Running scenarios and keeping their results."""
