"""A small denoiser of encoded rows of a table, from layers whose per-record gradients are known: Linear and SiLU."""

from torch import Tensor, nn

from workbench.networks.config import TableNetworkConfig
from workbench.networks.unet import time_embedding


class TableDenoiser(nn.Module):
    """Logits (B, `num_values`) of encoded rows (B, `num_values`) at times int64 (B,) of `timesteps`; a row's output depends on it alone.

    A linear map of the row (every pair of values has a weight) and, beside it, hidden layers that are told the time. All outputs
    start at zero: then every category is as likely as the next.
    """

    def __init__(self, config: TableNetworkConfig, num_values: int, timesteps: int) -> None:
        super().__init__()
        self.direct = _with_zero_parameters(nn.Linear(num_values, num_values))
        self.hidden = HiddenPart(config, num_values, timesteps) if config.hidden_width else None

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """(B, num_values)."""
        logits: Tensor = self.direct(x)
        return logits if self.hidden is None else logits + self.hidden(x, t)


class HiddenPart(nn.Module):
    """What a linear map of rows does not see: layers with skips, told the time."""

    def __init__(self, config: TableNetworkConfig, num_values: int, timesteps: int) -> None:
        super().__init__()
        width = config.hidden_width
        self.time_features, self.time_scale = config.time_features, 1000.0 / timesteps
        self.entry = nn.Linear(num_values, width)
        self.time = nn.Linear(config.time_features, width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(config.num_layers)])
        self.activation = nn.SiLU()
        self.exit = _with_zero_parameters(nn.Linear(width, num_values))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """(B, num_values)."""
        hidden = self.entry(x) + self.time(time_embedding(t * self.time_scale, self.time_features).to(x.dtype))
        for layer in self.layers:
            hidden = hidden + layer(self.activation(hidden))
        return self.exit(self.activation(hidden))


def _with_zero_parameters(layer: nn.Linear) -> nn.Linear:
    """The layer with all its parameters at zero."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
