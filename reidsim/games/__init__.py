"""Games between publisher and adversaries: solvers, equilibria, fixed policies."""
