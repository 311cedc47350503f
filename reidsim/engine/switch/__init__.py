"""Values of a payoff parameter at which the publisher's best policy changes."""
