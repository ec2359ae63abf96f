"""Train: choose, see what it costs, launch, watch."""
