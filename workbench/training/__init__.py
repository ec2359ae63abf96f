"""The private step: batches, per-record gradients, clipping, noise, checkpoints; releases in one go; the randomness and state of a fit."""
