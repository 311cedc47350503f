"""What the figures and tables of this kind show, in words."""

# By file name without ending.
CAPTIONS = {
    "effectiveness": "Distribution of the subjects' payoff by policy, and privacy against utility",
    "strategy-map": "Which attributes each subject masks, by policy; subjects who are attacked stand on the right",
    "fairness": "Usefulness and privacy by policy, and how evenly groups of subjects have them",
    "search-path": "Strategies that a greedy search goes through, by the confidence of the inference that each allows",
    "lines-usefulness": "Mean usefulness by policy along each line of changed values",
    "lines-fairness": "Mean fairness of usefulness by policy along each line of changed values",
    "lines-payoff": "Subjects' mean payoff by policy along each line of changed values",
    "lines-privacy": "Subjects' mean privacy by policy along each line of changed values",
    "lines-utility": "Mean utility by policy along each line of changed values",
}
