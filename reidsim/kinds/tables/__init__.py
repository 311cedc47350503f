"""A publisher shares a table of records: each record in a generalization of its own, or all in one."""
