"""Cases that are released period after period, each period's table in one generalization."""
