"""The sequential attack of Xia et al. 2015: access a registry, link, exploit candidates one after the other, stop."""
