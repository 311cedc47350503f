"""The game in which somebody may look a person up in the shared file: direction "person", and both directions."""
