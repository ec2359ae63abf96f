"""Exponential moving average of a network's parameters."""

import copy

import torch
from torch import Tensor, nn


class ExponentialMovingAverage(nn.Module):
    """Averages a network over its updates with decay min(`decay`, (1 + n) / (10 + n)), n the updates so far, this one included.

    `module` is the averaged copy: frozen, in evaluation mode. The count is a buffer, so `state_dict` holds all.
    """

    num_updates: Tensor

    def __init__(self, module: nn.Module, decay: float = 0.999) -> None:
        super().__init__()
        if not 0.0 <= decay <= 1.0:
            raise ValueError(f"Expected decay in [0, 1], got {decay}.")
        self.decay = decay
        self.module = copy.deepcopy(module).eval().requires_grad_(False)
        self.register_buffer("num_updates", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def update(self, module: nn.Module) -> None:
        """Take in `module` after a real optimiser step (not after a virtual one); buffers are copied."""
        self.num_updates += 1
        n = int(self.num_updates)
        decay = min(self.decay, (1 + n) / (10 + n))
        for average, value in zip(self.module.parameters(), module.parameters(), strict=True):
            average.lerp_(value.detach(), 1.0 - decay)
        for average, value in zip(self.module.buffers(), module.buffers(), strict=True):
            average.copy_(value)
