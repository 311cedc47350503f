"""Populations drawn one attribute at a time.

Published shares are conditional on earlier attributes.
"""
