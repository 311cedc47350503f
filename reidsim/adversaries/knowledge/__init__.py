"""Adversaries who know some attributes of some people, from sources such as voter lists and social media."""
