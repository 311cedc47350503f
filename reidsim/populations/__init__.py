"""Populations: domains, people, and the recipes from which populations are made."""
