"""What the figures and tables of this kind show, in words."""

# By file name without ending.
CAPTIONS = {
    "levels": "Level of each attribute in each period's release, by policy",
    "cumulative-payoff": "Publisher's cumulative payoff, by policy",
    "exposed": "Cumulative cases in attacked records, and expected re-identifications",
    "periods": "Release and outcome of each period's table, by policy",
}
