"""What follows from what: carrying, merging, staleness, checks, the graph. Pure functions only."""
