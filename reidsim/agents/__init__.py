"""Multi-round mesa model of publishers, data subjects and adversaries."""
