"""What the figures and tables of this kind show, in words."""

# By file name without ending.
CAPTIONS = {
    "strategies": "Both players' payoffs for every release of one record, attacked or not",
    "payoff-differences": "Distribution over records of each game's payoffs less those of Safe Harbor",
    "payoff-scatter": "Each record's payoffs under each game against those under Safe Harbor",
    "search-deviation": "Distance of lattice-based search from the optimum while one payoff parameter changes",
    "risk-by-group-size": "Probability of re-identification over group size, for the planning adversary and a baseline",
    "payoff-by-group-size": "Adversary's payoff over group size, for the planning adversary and a baseline",
    "exploits-by-group-size": "Exploits made over group size, for the planning adversary and a baseline",
    "belief-risks": "Probability of re-identification where the group size is known, and where it is not",
    "attack-thresholds": "Smallest group that is not attacked, while one deterrent grows",
    "payout-curves-loss": "Publisher's payoff by policy while loss and gain grow",
    "payout-curves-benefit": "Publisher's payoff by policy while the benefit grows",
    "payout-curves-cost": "Publisher's payoff by policy while the cost of an attack grows",
    "payout-front": "Publisher's payout against share of records attacked, nodes that nothing else beats in both",
    "full-domain-runtimes": "Seconds that the search takes with and without pruning, over loss and gain",
    "attacks": "The sequential planner by group size",
    "beliefs": "Known against unknown group sizes",
    "file_attack": "The whole file attacked at once",
    "runtimes": "Seconds taken",
    "optima": "Optimum by policy, sums over records",
    "top_nodes": "The best nodes of the lattice, as the publisher plans",
    "front": "Nodes that nothing else beats in both payout and share attacked",
}
