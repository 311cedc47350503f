"""What may be shared: records, hierarchies and the strategy spaces over them."""
