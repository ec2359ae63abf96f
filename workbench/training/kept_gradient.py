"""An optimiser that keeps the gradients of its last step: for private steps whose noisy gradient is the release itself."""

import torch
from torch import Tensor, nn


class KeptGradient(torch.optim.Optimizer):
    """Keeps the gradients of its last step and moves nothing: the noisy gradient is what is wanted."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__(module.parameters(), {"lr": 0.0})
        self.gradients: list[Tensor] = []

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # without a closure
        """Keep them."""
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        self.gradients = [torch.zeros_like(parameter) if parameter.grad is None else parameter.grad for parameter in parameters]
