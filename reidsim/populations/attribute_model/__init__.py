"""People whose attributes follow published shares, each given some of the attributes before it."""
