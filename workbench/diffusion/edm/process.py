"""EDM's process: noising, what a network is given and gives, and its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.diffusion.edm.config import EDMConfig

if TYPE_CHECKING:
    from torch import Tensor


class EDM:
    """x = x_start + sigma noise, and D(x; sigma) = c_skip x + c_out F(c_in x; c_noise) for a network F (Karras et al. 2022, eq. 7).

    Methods take `sigma` (B,), positive, beside tensors (B, ...) and return (B, ...). With s = sigma_data and
    r = sqrt(sigma^2 + s^2) (Table 1): c_skip = s^2 / r^2, c_out = sigma s / r, c_in = 1 / r, c_noise = ln(sigma) / 4.
    """

    def __init__(self, config: EDMConfig) -> None:
        self.config = config

    def sigma(self, normal: Tensor) -> Tensor:
        """Noise levels to train, log-normal, from standard normal values (B,) (Table 1, "noise distribution")."""
        return (self.config.log_sigma_mean + self.config.log_sigma_std * normal).exp()

    def add_noise(self, x_start: Tensor, noise: Tensor, sigma: Tensor) -> Tensor:
        """x from a clean record and standard normal `noise`."""
        return x_start + _beside(sigma, x_start) * noise

    def network_input(self, x: Tensor, sigma: Tensor) -> tuple[Tensor, Tensor]:
        """c_in x, of unit variance, (B, ...) and c_noise (B,), times what it is embedded by."""
        return x / self._spread(_beside(sigma, x)), sigma.log() / 4.0 * self.config.embedding_scale

    def predict_x_start(self, network_output: Tensor, x: Tensor, sigma: Tensor) -> Tensor:
        """D(x; sigma), the clean record that F = `network_output` implies (eq. 7)."""
        sigma, s = _beside(sigma, x), self.config.sigma_data
        spread = self._spread(sigma)
        return (s / spread) ** 2 * x + sigma * s / spread * network_output

    def target(self, x_start: Tensor, noise: Tensor, sigma: Tensor) -> Tensor:
        """What F should be: (x_start - c_skip x) / c_out (eq. 8), which is (sigma x_start / s - s noise) / r."""
        sigma, s = _beside(sigma, x_start), self.config.sigma_data
        return (sigma / s * x_start - s * noise) / self._spread(sigma)

    def loss(self, network_output: Tensor, x_start: Tensor, noise: Tensor, sigma: Tensor) -> Tensor:
        """lambda |D - x_start|^2 averaged over pixels, (B,); as lambda = 1 / c_out^2, the squared error of F (eq. 8)."""
        error = network_output - self.target(x_start, noise, sigma)
        return error.square().flatten(1).mean(dim=1)

    def denoiser(self, model: Callable[[Tensor, Tensor, Tensor | None], Tensor]) -> Callable[[Tensor, Tensor, Tensor | None], Tensor]:
        """D as a function of (x, sigma, label rows or None) for the network `model`, F."""

        def denoise(x: Tensor, sigma: Tensor, labels: Tensor | None) -> Tensor:
            scaled, c_noise = self.network_input(x, sigma)
            return self.predict_x_start(model(scaled, c_noise, labels), x, sigma)

        return denoise

    def _spread(self, sigma: Any) -> Any:
        """r, the standard deviation of noised pixels."""
        return (sigma**2 + self.config.sigma_data**2) ** 0.5


def _beside(sigma: Tensor, like: Tensor) -> Tensor:
    """(B, 1, ...) to fit `like`."""
    return sigma.reshape(-1, *[1] * (like.ndim - 1))
