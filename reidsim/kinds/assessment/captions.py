"""What the figures and tables of this kind show, in words."""

# By file name without ending.
CAPTIONS = {
    "risk-maps": "Each person's risks under partial knowledge against those of the worst case",
    "risk-reductions": "How far partial knowledge lowers risks against the worst case, by number of records",
    "capability-reductions": "How far partial knowledge lowers the overall risk, over capabilities of the adversary",
    "cohort-groups": "Risk of each group of people against the accepted risk",
    "cohort-growth": "Risk against the accepted risk while the cohort grows: mean and interval of the draws",
    "cohorts": "Risk of each group of people against the accepted risk, by size of the cohort",
    "reductions": "How far partial knowledge lowers risks against the worst case, in percent",
    "settings": "Overall risk over settings of the adversary's capabilities",
    "sources": "What sources of knowledge cost and pay",
    "knowledge_sets": "What may be known of a person, and how likely that is",
}
