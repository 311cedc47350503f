"""Inference of a man's surname from his Y chromosome, and the confidence in it."""
