"""Records, hierarchies, and the strategy spaces over them."""
