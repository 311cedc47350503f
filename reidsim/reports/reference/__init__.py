"""The reference pages of the documentation, written from the code: keys of scenarios and recipes, and commands."""
