"""Records: how much samples show of each training record where a method tells it, and one record looked for in any run."""
