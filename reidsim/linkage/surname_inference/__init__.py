"""Inference of a man's surname from his Y chromosome, with a confidence."""
