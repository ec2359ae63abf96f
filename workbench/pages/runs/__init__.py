"""Runs: all of them, filtered and sorted; look at one or compare several; clone and edit, evaluate, resume, delete."""
