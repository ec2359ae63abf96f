"""Records: how much samples show of each training record, of runs whose method tells it."""
