"""Start: what this is, a tour, three ways in, what was done here last and what is left. Nothing is trained, measured or searched."""
