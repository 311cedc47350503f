"""Write the report of a results folder as one HTML page."""
