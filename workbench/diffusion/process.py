"""The Gaussian diffusion process: noising, what a network predicts, and its loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from workbench.diffusion.schedules import NoiseSchedule
from workbench.errors import WorkbenchError
from workbench.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

Prediction = Literal["epsilon", "v"]
Weighting = Literal["none", "min-snr"]
MOST_SNR = 5.0


class GaussianDiffusion:
    """x_t = sqrt(alphas_cumprod_t) x_start + sqrt(1 - alphas_cumprod_t) noise (Ho et al. 2020, eq. 4).

    Every method takes `t` int64 (B,) in 0..T beside tensors (B, ...) and returns (B, ...) on the same device.
    `prediction` says what the network's output means: "epsilon" (the noise) or "v" (Salimans and Ho 2022, section 4).
    """

    def __init__(self, schedule: NoiseSchedule, prediction: Prediction = "epsilon", weighting: Weighting = "none") -> None:
        if prediction not in ("epsilon", "v"):
            raise WorkbenchError(f"Unknown prediction {prediction!r}. Choose one of: epsilon, v.")
        self.schedule = schedule
        self.prediction: Prediction = prediction
        self.weighting: Weighting = weighting
        self._tables: dict[torch.device, Tensor] = {}

    @property
    def timesteps(self) -> int:
        """Number of noising steps T."""
        return self.schedule.timesteps

    def scales(self, t: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
        """The factors of signal and noise at `t`, (B, 1, ...) to fit `like`; computed in float64."""
        if t.device not in self._tables:
            self._tables[t.device] = torch.tensor(self.schedule.alphas_cumprod, device=t.device)
        alphas_cumprod = self._tables[t.device][t].reshape(-1, *[1] * (like.ndim - 1))
        return alphas_cumprod.sqrt().to(like.dtype), (1.0 - alphas_cumprod).sqrt().to(like.dtype)

    def add_noise(self, x_start: Tensor, noise: Tensor, t: Tensor) -> Tensor:
        """x_t from a clean record and standard normal `noise`."""
        signal_scale, noise_scale = self.scales(t, x_start)
        return signal_scale * x_start + noise_scale * noise

    def target(self, x_start: Tensor, noise: Tensor, t: Tensor) -> Tensor:
        """What the network should output for the x_t made of `x_start` and `noise`."""
        if self.prediction == "epsilon":
            return noise
        signal_scale, noise_scale = self.scales(t, x_start)
        return signal_scale * noise - noise_scale * x_start

    def predict_x_start(self, model_output: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
        """The clean record that `model_output` implies; for "epsilon" `t` must be at least 1 to say anything new."""
        signal_scale, noise_scale = self.scales(t, x_t)
        if self.prediction == "epsilon":
            return (x_t - noise_scale * model_output) / signal_scale
        return signal_scale * x_t - noise_scale * model_output

    def predict_noise(self, model_output: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
        """The noise that `model_output` implies."""
        if self.prediction == "epsilon":
            return model_output
        signal_scale, noise_scale = self.scales(t, x_t)
        return signal_scale * model_output + noise_scale * x_t

    def loss(self, model_output: Tensor, x_start: Tensor, noise: Tensor, t: Tensor) -> Tensor:
        """Squared error to the target, averaged over pixels and weighted by time step: (B,), one value a record."""
        error = model_output - self.target(x_start, noise, t)
        losses = error.square().flatten(1).mean(dim=1)
        return losses if self.weighting == "none" else self.weights(t, losses) * losses

    def weights(self, t: Tensor, like: Tensor) -> Tensor:
        """How much the squared error at `t` counts, (B,) to fit `like`: min(SNR, 5) of the image's own (Hang et al. 2023, section 3.4)."""
        signal_scale, noise_scale = self.scales(t, like)
        snr = (signal_scale / noise_scale).square()
        return snr.clamp(max=MOST_SNR) / (snr if self.prediction == "epsilon" else snr + 1)
