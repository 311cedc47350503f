"""Who exists: domains, populations and the recipes that make them."""
