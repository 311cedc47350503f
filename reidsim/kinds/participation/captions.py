"""What the figures and tables of this kind show, in words."""

# By file name without ending.
CAPTIONS = {
    "best-replies": "Who would join by who is in the database; equilibria are where the line meets the diagonal",
    "equilibria": "Participation and mean payoff at every equilibrium that was found",
    "survival": "How many come back after some of those who joined drop out at random, by equilibrium",
    "participation": "Participation and payoff by policy along the key that changes",
    "replies": "Share of people who would join, by the share in the database",
    "families": "Equilibria of each small family by the number who join, all profiles enumerated",
}
