"""Which surname a man's Y chromosome suggests, and how sure one can be of it."""
