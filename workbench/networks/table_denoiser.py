"""A small denoiser of encoded rows of a table, from layers whose per-record gradients are known: Linear and SiLU."""

from torch import Tensor, nn

from workbench.networks.config import TableNetworkConfig
from workbench.networks.unet import time_embedding


class TableDenoiser(nn.Module):
    """Logits (B, `num_values`) of encoded rows (B, `num_values`) at times int64 (B,) of `timesteps`; a row's output depends on it alone.

    The last layer starts at zero: then every category is as likely as the next.
    """

    def __init__(self, config: TableNetworkConfig, num_values: int, timesteps: int) -> None:
        super().__init__()
        width = config.hidden_width
        self.time_features, self.time_scale = config.time_features, 1000.0 / timesteps
        self.entry = nn.Linear(num_values, width)
        self.time = nn.Linear(config.time_features, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(config.num_layers)])
        self.activation = nn.SiLU()
        self.exit = nn.Linear(width, num_values)
        nn.init.zeros_(self.exit.weight)
        nn.init.zeros_(self.exit.bias)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """(B, num_values)."""
        hidden = self.entry(x) + self.time(time_embedding(t * self.time_scale, self.time_features).to(x.dtype))
        for layer in self.hidden:
            hidden = hidden + layer(self.activation(hidden))
        return self.exit(self.activation(hidden))
