"""Where the best policy changes along one amount of money."""
