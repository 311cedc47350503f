"""Components that all other subpackages use: registries and measures."""
