"""What the figures and tables of this kind show, in words."""

# By file name without ending.
CAPTIONS = {
    "levels": "Level of each attribute in each period's release, by policy",
    "cumulative-payoff": "Publisher's payoff of all periods so far, by policy",
    "exposed": "Cases released in attacked records so far, and those expected to be re-identified",
    "periods": "Release of each period's table and what comes of it, by policy",
}
