"""Parts that all other subpackages use: errors, registries, tables, random streams, words of results."""
