"""A publisher shares a table, generalized record by record or as a whole."""
