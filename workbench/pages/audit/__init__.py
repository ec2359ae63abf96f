"""Audit: attacks on one run and on papers' claims, each begun here as a job with its cost; its result stays."""
