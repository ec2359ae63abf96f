"""Recipes: the lines behind every number that the README shows, and their reports."""
