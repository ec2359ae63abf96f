"""Shared by tests: quick configurations, odd methods, small data."""
