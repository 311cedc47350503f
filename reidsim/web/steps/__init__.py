"""The steps of the page, one component each."""
