"""Adversaries with partial knowledge, from sources such as voter lists."""
