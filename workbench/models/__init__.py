"""What several methods share and no paper owns: the image diffusion model, and what a model is asked for."""
