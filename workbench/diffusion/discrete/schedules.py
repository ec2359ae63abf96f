"""How fast values fade into noise: alphas_cumprod (T+1,), the chance that a value was never drawn anew, from 1, falling."""

import numpy as np


def cosine(timesteps: int, offset: float = 0.008) -> np.ndarray:
    """cos^2 of Nichol and Dhariwal 2021, eq. 17, which ends at 0: slow at first."""
    angles = (np.arange(timesteps + 1) / timesteps + offset) / (1.0 + offset) * np.pi / 2.0
    return _with_exact_ends(np.cos(angles) ** 2 / np.cos(angles[0]) ** 2)


def linear(timesteps: int) -> np.ndarray:
    """1 - t/T: the mutual-information schedule of uniform kernels in short (Austin et al. 2021, A.1)."""
    return _with_exact_ends(1.0 - np.arange(timesteps + 1) / timesteps)


def cubic(timesteps: int) -> np.ndarray:
    """(1 - t/T)^3: three times as fast as the linear one at first, which protects records (Wei et al. 2024)."""
    return _with_exact_ends((1.0 - np.arange(timesteps + 1) / timesteps) ** 3)


def _with_exact_ends(values: np.ndarray) -> np.ndarray:
    """The values with their ends exactly 1 and 0."""
    values[0], values[-1] = 1.0, 0.0
    return values
