"""Dossier: what a data protection officer signs of one run, what is still to be said, and the files."""
