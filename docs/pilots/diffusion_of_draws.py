"""What a CNN learns of a small diffusion model of coefficients, taught draws of cluster moments and then records, no noise anywhere.

`python -m docs.pilots.diffusion_of_draws` prints a table: what a refinement comes to that costs nothing. The draws are
private, the refinement is not, so no line of it may be released. Nothing here looks at test records. It needs Fashion-MNIST's IDX files in
the folder that WORKBENCH_DATA names, and half an hour of a core.

Source: Karras et al. 2022, preconditioning (table 1), training noise and the deterministic sampler (algorithm 1).
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from docs.pilots.asked import Asked
from docs.pilots.labels_on_draws import SAMPLES, accuracy, trained
from workbench.datasets.base import to_unit_range
from workbench.experiment import sample
from workbench.records import Records

CNN_SEEDS = (0, 1)
DRAWS = 60_000
DIRECTIONS = 100
PART = 0.3  # of mu^2, that the draws have where records refine what is taught them
WIDTH, BLOCKS, BATCH = 384, 2, 1_000
SIGMA_MIN, SIGMA_MAX, RHO, STEPS = 0.02, 20.0, 7.0, 24


@dataclass(frozen=True)
class Basis:
    """Principal directions of draws, and what of a draw they leave."""

    mean: np.ndarray
    axes: np.ndarray  # (D, k)
    scale: np.ndarray  # (k,), half whitened
    images: np.ndarray  # (N, D) draws
    labels: np.ndarray

    @classmethod
    def of(cls, images: np.ndarray, labels: np.ndarray) -> "Basis":
        """The basis of draws (N, C, H, W)."""
        flat = images.reshape(len(images), -1)
        mean = flat.mean(0)
        axes = np.linalg.svd((flat - mean)[:20_000], full_matrices=False)[2][:DIRECTIONS].T
        deviations = ((flat - mean) @ axes).std(0)
        return cls(mean, axes, np.sqrt(deviations * deviations.mean()), flat, labels)

    def coefficients(self, images: np.ndarray) -> Tensor:
        """Coefficients (N, k) of images."""
        return torch.from_numpy(((images.reshape(len(images), -1) - self.mean) @ self.axes / self.scale).astype(np.float32))

    def pictures(self, coefficients: Tensor, labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Images of coefficients, each with what these directions leave of a draw of its class."""
        draw = np.random.default_rng(0)
        lent = self.images[[draw.choice(np.flatnonzero(self.labels == label)) for label in labels]] - self.mean
        rest = lent - lent @ self.axes @ self.axes.T
        flat = coefficients.numpy() * self.scale @ self.axes.T + self.mean + rest
        return np.clip(flat, -1, 1).reshape(-1, *shape).astype(np.float32)


class Denoiser(nn.Module):
    """A residual perceptron of noisy coefficients, their noise and class, with the preconditioning of the source."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.noise = nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, WIDTH))
        self.label, self.into, self.out = nn.Embedding(classes, WIDTH), nn.Linear(DIRECTIONS, WIDTH), nn.Linear(WIDTH, DIRECTIONS)
        self.blocks = nn.ModuleList(self._block() for _ in range(BLOCKS))

    @staticmethod
    def _block() -> nn.Sequential:
        last = nn.Linear(WIDTH, WIDTH)
        nn.init.zeros_(last.weight)
        return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.SiLU(), last)

    def forward(self, x: Tensor, sigma: Tensor, labels: Tensor) -> Tensor:
        """Coefficients (N, k) without the noise of deviation `sigma` (N,)."""
        norm, waves = (sigma**2 + 1) ** 0.5, sigma.log()[:, None] / 4 * torch.exp(torch.linspace(0, math.log(100), 32))
        given = self.noise(torch.cat([waves.sin(), waves.cos()], 1)) + self.label(labels)
        hidden = self.into(x / norm[:, None])
        for block in self.blocks:
            hidden = hidden + block(hidden + given)
        return x / (norm**2)[:, None] + (sigma / norm)[:, None] * self.out(hidden)


def teach(network: Denoiser, x: Tensor, labels: Tensor, steps: int, batch: int, rate: float) -> None:
    """Adam on weighted squared errors; the weights end as their average."""
    optimizer, generator = torch.optim.Adam(network.parameters(), lr=rate), torch.Generator().manual_seed(0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    average = torch.optim.swa_utils.AveragedModel(network, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998))
    for _ in range(steps):
        chosen = torch.randint(len(x), (batch,), generator=generator)
        sigma = torch.exp(torch.randn(batch, generator=generator) * 1.2 - 1.0)
        noisy = x[chosen] + sigma[:, None] * torch.randn((batch, x.shape[1]), generator=generator)
        errors = (network(noisy, sigma, labels[chosen]) - x[chosen]) ** 2
        optimizer.zero_grad()
        (errors * ((sigma**2 + 1) / sigma**2)[:, None]).mean().backward()
        optimizer.step()
        schedule.step()
        average.update_parameters(network)
    network.load_state_dict(average.module.state_dict())


@torch.no_grad()
def drawn(network: Denoiser, labels: Tensor) -> Tensor:
    """Coefficients (N, k) by Heun's steps."""
    places = torch.linspace(0, 1, STEPS)
    sigmas = (SIGMA_MAX ** (1 / RHO) + places * (SIGMA_MIN ** (1 / RHO) - SIGMA_MAX ** (1 / RHO))) ** RHO
    x = SIGMA_MAX * torch.randn(len(labels), DIRECTIONS, generator=torch.Generator().manual_seed(0))
    for now, then in zip(sigmas, [*sigmas[1:], torch.tensor(0.0)], strict=True):
        slope = (x - network(x, now.expand(len(x)), labels)) / now
        ahead = x + (then - now) * slope
        if then > 0:
            slope = (slope + (ahead - network(ahead, then.expand(len(x)), labels)) / then) / 2
        x = x + (then - now) * slope
    return x


def main() -> None:
    """The table, a row at a time."""
    asked = Asked.of_command_line(__doc__, bound=10.0)
    dataset, classes = asked.dataset, asked.dataset.facts.num_classes

    def draws(part: float) -> tuple[np.ndarray, np.ndarray]:
        return arrays(sample(*trained("cluster-moments", dataset, asked.mu * math.sqrt(part), asked.delta, asked.seed), DRAWS))

    def show(what: str, images: np.ndarray, labels: np.ndarray) -> None:
        images, targets = images[:SAMPLES], np.eye(classes)[labels[:SAMPLES]]
        told = [accuracy(images, targets, np.ones(len(images)), dataset.held_out, seed) for seed in CNN_SEEDS]
        print(f"| {what} | {' | '.join(f'{value:.3f}' for value in told)} |", flush=True)

    print(f"{asked}\n\n| what is taught | CNN of seed 0 | CNN of seed 1 |\n|---|---|---|")
    show("draws with all of the budget", *draws(1.0))
    images, labels = draws(PART)
    show(f"draws with {PART:g} of it", images, labels)
    basis, evenly = Basis.of(images, labels), np.arange(SAMPLES) % classes
    real, real_labels = arrays(dataset.train)

    def pictures(coefficients: Tensor, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return basis.pictures(coefficients, of, dataset.facts.shape), of

    def by(network: Denoiser) -> tuple[np.ndarray, np.ndarray]:
        return pictures(drawn(network, torch.from_numpy(evenly)), evenly)

    known, taught = basis.coefficients(real), torch.from_numpy(real_labels)
    show("records themselves in the directions of these", *pictures(known[:SAMPLES], real_labels[:SAMPLES]))
    torch.manual_seed(0)
    network = Denoiser(classes)
    teach(network, basis.coefficients(images), torch.from_numpy(labels), 1_500, BATCH, 1e-3)
    show("a diffusion model of the draws", *by(network))
    teach(network, known, taught, 400, 2 * BATCH, 5e-4)
    show("the same, refined by 400 steps on records, without noise", *by(network))
    network = Denoiser(classes)
    teach(network, known, taught, 2_000, BATCH, 1e-3)
    show("a diffusion model of the records, 2 000 steps without noise", *by(network))


def arrays(records: Records) -> tuple[np.ndarray, np.ndarray]:
    """Images in -1..1 and labels."""
    assert records.labels is not None
    return to_unit_range(records.records), records.labels


if __name__ == "__main__":
    main()
