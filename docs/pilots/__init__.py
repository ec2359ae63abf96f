"""Trials of what was not built, each a command whose numbers `docs/tried.md` gives."""
