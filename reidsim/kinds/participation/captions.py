"""What the figures and tables of this kind show, in words."""

# By file name without ending.
CAPTIONS = {
    "best-replies": "Share of people who would join, by share in the database; equilibria lie on the diagonal",
    "equilibria": "Participation and mean payoff at every equilibrium that was found",
    "survival": "How often each equilibrium recovers after random drop-outs",
    "participation": "Participation and payoff by policy, over the key that varies",
    "replies": "Share of people who would join, by the share in the database",
    "families": "Equilibria of each small family by the number who join, all profiles enumerated",
}
