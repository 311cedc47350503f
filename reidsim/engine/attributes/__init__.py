"""The effect of each quasi-identifier on a scenario's outcomes."""
