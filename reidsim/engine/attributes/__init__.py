"""What each quasi-identifier costs and brings."""
