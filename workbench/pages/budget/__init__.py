"""Budget: what a target costs and what it buys, before any record is touched."""
