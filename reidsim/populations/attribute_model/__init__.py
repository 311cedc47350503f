"""Populations drawn one attribute at a time, from published shares conditional on earlier attributes."""
