"""The web page: sliders over a scenario's prices and adversary, live figures, and rounds of the agent model."""
