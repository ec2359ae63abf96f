"""The uniform noising process over columns of categories, its reverse step, and the loss of what predicts clean records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import WorkbenchError
from workbench.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

NEVER = -1e9  # a log-probability whose exponential is 0, and whose products with 0 are


class DiscreteDiffusion:
    """Q_t = a_t I + (1 - a_t) 11^T/k per column; Qb_t the same with alphas_cumprod[t], the product of a_1..a_t.

    Records are int64 (B, n) with values in 0..categories[i]-1, times int64 (B,) in 1..T, distributions (B, n, width) with 0
    beyond a column's own categories. `smoothing` xi is mixed into the last reverse step: p -> (1 - xi) p + xi/k.
    """

    def __init__(self, categories: Sequence[int], alphas_cumprod: np.ndarray, smoothing: float = 1e-3) -> None:
        if not categories or min(categories) < 1:
            raise WorkbenchError(f"Expected columns with at least one category each, got {tuple(categories)}.")
        if len(alphas_cumprod) < 2 or alphas_cumprod[0] != 1 or not (np.diff(alphas_cumprod) < 0).all() or alphas_cumprod[-1] < 0:
            raise WorkbenchError("Expected alphas_cumprod to start at 1, to fall at every step and to stay at least 0.")
        self.categories, self.alphas_cumprod, self.smoothing = tuple(categories), alphas_cumprod, smoothing
        self._tables: dict[torch.device, _Tables] = {}

    @property
    def timesteps(self) -> int:
        """Number of noising steps T."""
        return len(self.alphas_cumprod) - 1

    @property
    def num_columns(self) -> int:
        """n."""
        return len(self.categories)

    @property
    def width(self) -> int:
        """The largest number of categories."""
        return max(self.categories)

    @property
    def num_values(self) -> int:
        """Categories of all columns together: the length of an encoded record."""
        return sum(self.categories)

    def kernel(self, column: int, t: int) -> np.ndarray:
        """Q_t of a column: (k, k), doubly stochastic."""
        return uniform_kernel(self.alphas_cumprod[t] / self.alphas_cumprod[t - 1], self.categories[column])

    def cumulated_kernel(self, column: int, t: int) -> np.ndarray:
        """Qb_t of a column, the product of Q_1..Q_t: (k, k)."""
        return uniform_kernel(self.alphas_cumprod[t], self.categories[column])

    def tables(self, device: torch.device) -> _Tables:
        """What the process looks up, on `device`."""
        if device not in self._tables:
            self._tables[device] = _Tables(self, device)
        return self._tables[device]

    def add_noise(self, x_start: Tensor, uniform: Tensor, t: Tensor) -> Tensor:
        """x_t from clean records and one `uniform` value in [0, 1) a cell: kept below alphas_cumprod_t, else drawn anew by the rest."""
        tables = self.tables(x_start.device)
        kept = tables.alphas_cumprod[t][:, None]
        share = (uniform - kept) / (1.0 - kept).clamp(min=torch.finfo(torch.float32).tiny)
        drawn = torch.minimum((share * tables.categories).long(), tables.categories - 1)
        return torch.where(uniform < kept, x_start, drawn)

    def one_hot(self, values: Tensor) -> Tensor:
        """float32 (B, n, width)."""
        return (values[..., None] == torch.arange(self.width, device=values.device)).float()

    def encode(self, values: Tensor, t: Tensor) -> Tensor:
        """What a network is given of noised values: alphas_cumprod_t (one-hot - 1/k), without padding, (B, num_values).

        It is what is expected of the clean record where nothing else is known, less the mean: where noise is all, zeros.
        """
        tables = self.tables(values.device)
        centred = self.one_hot(values) - 1.0 / tables.categories[:, None]
        return tables.alphas_cumprod[t][:, None] * centred.flatten(1)[:, tables.real]

    def log_probabilities(self, output: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
        """log p(x_0 | x_t) per column of a network's `output` (B, num_values): (B, n, width).

        The output stands for what the other columns say of a value; what the column's own noised value says is Bayes' rule,
        log Rb_t at that value, and is added here. An output of zeros is right where columns are independent and even.
        """
        tables = self.tables(x_t.device)
        padded = torch.cat([output.float(), torch.full_like(output[:, :1], NEVER, dtype=torch.float32)], dim=1)[:, tables.places]
        own = tables.log_ratio[t][:, :, None] * self.one_hot(x_t)
        return torch.log_softmax(padded + own, dim=2)

    def loss(self, output: Tensor, x_start: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
        """Cross-entropy of the clean record, mean over columns: (B,), in nats."""
        return -self.log_probabilities(output, x_t, t).gather(2, x_start[:, :, None])[:, :, 0].mean(dim=1)

    def reverse(self, clean: Tensor, x_t: Tensor, t: int) -> Tensor:
        """p(x_{t-1} | x_t) = sum_l q(. | x_t, l) p(l | x_t) per column, of `clean` p(x_0 | x_t) (B, n, width); smoothed at t = 1.

        q(a | b, l) = Q_t[a, b] Qb_{t-1}[l, a] / Qb_t[l, b], in time that grows with the categories alone.
        """
        tables, now, before = self.tables(x_t.device), float(self.alphas_cumprod[t]), float(self.alphas_cumprod[t - 1])
        k, real, here = tables.categories[:, None], tables.mask, self.one_hot(x_t)
        weights = clean / (now * here + (1.0 - now) / k)  # p(l) / Qb_t[l, b]
        arriving = before * weights + (1.0 - before) / k * weights.sum(dim=2, keepdim=True)
        kept = now / before
        probabilities = (kept * here + (1.0 - kept) / k) * arriving * real
        probabilities = probabilities / probabilities.sum(dim=2, keepdim=True)
        return (1.0 - self.smoothing) * probabilities + self.smoothing / k * real if t == 1 else probabilities

    def posterior(self, x_start: Tensor, x_t: Tensor, t: int) -> Tensor:
        """q(x_{t-1} | x_t, x_0) per column for t of 2 and more: (B, n, width)."""
        return self.reverse(self.one_hot(x_start), x_t, t)


class _Tables:
    """What a process looks up on one device."""

    def __init__(self, diffusion: DiscreteDiffusion, device: torch.device) -> None:
        k, kept = np.array(diffusion.categories), diffusion.alphas_cumprod[1:, None]
        ratios = np.concatenate([np.zeros((1, len(k))), np.log1p(k * kept / (1.0 - kept))])  # the first stands for no time
        self.categories = torch.tensor(diffusion.categories, device=device)
        self.alphas_cumprod = torch.tensor(diffusion.alphas_cumprod, dtype=torch.float32, device=device)
        self.log_ratio = torch.tensor(ratios, dtype=torch.float32, device=device)  # (T+1, n): log Rb_t
        self.mask = torch.arange(diffusion.width, device=device) < self.categories[:, None]  # (n, width)
        self.real = self.mask.flatten().nonzero()[:, 0]
        numbers = iter(range(diffusion.num_values))
        rows = [[next(numbers) for _ in range(size)] + [diffusion.num_values] * (diffusion.width - size) for size in diffusion.categories]
        self.places = torch.tensor(rows, device=device)  # (n, width): where each category stands in an encoded record


def uniform_kernel(kept: float, size: int) -> np.ndarray:
    """a I + (1 - a) 11^T/k: (k, k)."""
    return kept * np.eye(size) + (1.0 - kept) / size
