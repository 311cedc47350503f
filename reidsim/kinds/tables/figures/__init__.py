"""Figures of Wan et al. 2015, Xia et al. 2015 and Prasser et al. 2017."""
