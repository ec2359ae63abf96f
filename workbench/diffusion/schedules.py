"""How fast the signal fades: noise schedules as plain float64 arrays."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from workbench.errors import WorkbenchError

Spacing = Literal["even", "quadratic"]
SPACINGS: dict[Spacing, int] = {"even": 1, "quadratic": 2}  # the power of a step's number that its time grows with


def linear_betas(timesteps: int = 1000, beta_start: float = 1e-4, beta_end: float = 2e-2) -> np.ndarray:
    """Betas (T,) evenly spaced from `beta_start` to `beta_end` (Ho et al. 2020, section 4).

    The ends stay as given whatever `timesteps` is, so a short linear schedule leaves signal at its last step.
    """
    return np.linspace(beta_start, beta_end, timesteps, dtype=np.float64)


def cosine_betas(timesteps: int = 1000, offset: float = 0.008, max_beta: float = 0.999) -> np.ndarray:
    """Betas (T,) of a squared-cosine alphas_cumprod, capped at `max_beta` (Nichol and Dhariwal 2021, eq. 17)."""
    fraction = np.arange(timesteps + 1, dtype=np.float64) / timesteps
    alphas_cumprod = np.cos((fraction + offset) / (1.0 + offset) * np.pi / 2.0) ** 2
    return np.minimum(1.0 - alphas_cumprod[1:] / alphas_cumprod[:-1], max_beta)


@dataclass(frozen=True, eq=False)
class NoiseSchedule:
    """Noise levels by time step t = 0..T, where t = 0 is the clean record.

    Takes betas (T,), each in (0, 1); keeps `betas` (T+1,) with betas[0] = 0 and `alphas_cumprod` (T+1,) with
    alphas_cumprod[0] = 1, both float64 and read-only.
    """

    betas: np.ndarray
    alphas_cumprod: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        betas = np.asarray(self.betas, dtype=np.float64)
        if betas.ndim != 1 or len(betas) == 0 or not np.all((betas > 0.0) & (betas < 1.0)):
            raise WorkbenchError(f"Expected betas of shape (T,) in (0, 1), got {betas}. Choose a named schedule.")
        betas = np.concatenate([[0.0], betas])
        alphas_cumprod = np.cumprod(1.0 - betas)
        for name, values in (("betas", betas), ("alphas_cumprod", alphas_cumprod)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @property
    def timesteps(self) -> int:
        """Number of noising steps T."""
        return len(self.betas) - 1

    def inference_timesteps(self, num_inference_steps: int, spacing: Spacing = "even", start: int | None = None) -> list[int]:
        """The num_inference_steps + 1 time steps that a sampler visits, falling from `start` (None: T) to 0.

        "quadratic" visits t in proportion to i^2, closer together towards 0 (Song et al. 2021, appendix D.2).
        """
        first = self.timesteps if start is None else start
        if not 1 <= first <= self.timesteps:
            raise WorkbenchError(f"Expected sampling to start at a time in 1..{self.timesteps}, got {first}.")
        if not 1 <= num_inference_steps <= first:
            raise WorkbenchError(f"Expected num_inference_steps in 1..{first} (the timesteps), got {num_inference_steps}.")
        power = SPACINGS[spacing]
        parts, half = num_inference_steps**power, num_inference_steps**power // 2
        return [max((remaining**power * first + half) // parts, remaining) for remaining in range(num_inference_steps, -1, -1)]
