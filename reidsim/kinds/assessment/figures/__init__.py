"""Figures of assessments (Xia et al. 2021), and of cohorts and accepted risk."""
