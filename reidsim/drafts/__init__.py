"""First drafts: what a user's table holds, and a scenario with hierarchies to start from."""
