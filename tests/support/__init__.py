"""Shared by tests: quick configurations, rehearsal methods, small data."""
