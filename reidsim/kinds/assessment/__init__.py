"""What is known about people is held against a release that is given."""
