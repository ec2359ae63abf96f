"""The private step: batches, per-record gradients, clipping, noise, checkpoints; and the randomness and state of a fit."""
