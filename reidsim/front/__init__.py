"""The Python interface: scenarios, drafts, hierarchies and results."""
