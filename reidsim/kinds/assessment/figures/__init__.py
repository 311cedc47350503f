"""Figures of assessments: those of Xia et al. 2021, and of cohorts against an accepted risk."""
