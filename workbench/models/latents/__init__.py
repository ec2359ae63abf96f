"""Latents of a public autoencoder, which a diffusion model may learn in the place of pixels (Rombach et al. 2022; Lyu et al. 2023).

`config` says which and is loaded by plans; `autoencoder` trains it and takes records there and back.
"""
