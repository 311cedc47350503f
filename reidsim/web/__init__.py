"""Serve a web page: sliders for payoffs and adversary, figures, agent rounds."""
