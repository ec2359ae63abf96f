"""Process: what diffusion and privacy do, on real records, in panels that are files too."""
