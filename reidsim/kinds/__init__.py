"""Kinds of scenario, a folder each: its schema, its study, its policies, its measures."""
