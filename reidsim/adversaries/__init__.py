"""How an adversary plans."""
