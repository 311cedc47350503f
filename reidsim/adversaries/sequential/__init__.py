"""The sequential attack of Xia et al. 2015: access, link, exploit in turn, stop."""
