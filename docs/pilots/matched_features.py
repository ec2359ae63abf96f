"""Draws of cluster moments, changed until their mean features by class are the records', which have no noise: what a CNN learns of them.

`python -m docs.pilots.matched_features` prints a table. Features are responses of wavelets, their products and responses of responses,
each averaged over squares, and random cosines of these. The means are not private, so no line of it may be released. Nothing here looks
at test records. It needs Fashion-MNIST's IDX files in the folder that WORKBENCH_DATA names, and half an hour of a core.

Source: Harder et al. 2023 (DP-MEPF) match means of features; Portilla and Simoncelli 2000 begin from noise and change pixels.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from docs.pilots.asked import Asked
from docs.pilots.labels_on_draws import SAMPLES, accuracy, trained
from workbench.datasets.base import to_unit_range
from workbench.experiment import sample

CNN_SEEDS = (0, 1)
STEPS, RATE, SHOWN = 10, 0.03, 5
COSINES, CHUNK, SOME = 3_000, 500, 2_000
LEAST = 0.05  # of the widest feature's deviation, as which narrower ones are taken
HEAVIER = 3.0  # random cosines, beside the others


def wavelets(size: int, frequency: float, width: float, orientations: int = 6) -> Tensor:
    """Real and imaginary parts of Gabor wavelets (2 orientations, 1, size, size) of mean zero."""
    rows, columns = np.meshgrid(*[np.arange(size) - size // 2] * 2, indexing="ij")
    parts = []
    for turn in range(orientations):
        angle = np.pi * turn / orientations
        along, across = columns * np.cos(angle) + rows * np.sin(angle), rows * np.cos(angle) - columns * np.sin(angle)
        bell = np.exp(-(along**2 + (0.6 * across) ** 2) / (2 * width**2))
        wave = bell * np.exp(1j * frequency * along)
        wave = wave - bell * (wave.sum() / bell.sum())
        parts += [(wave / np.abs(wave).sum()).real, (wave / np.abs(wave).sum()).imag]
    return torch.tensor(np.array(parts), dtype=torch.float32)[:, None]


FINE, COARSE = wavelets(7, 2.2, 1.2), wavelets(11, 1.1, 2.4)


def moduli(maps: Tensor, filters: Tensor) -> Tensor:
    """Moduli (N, C * orientations, H, W) of the responses of maps (N, C, H, W), in units of four."""
    count, channels, height, width = maps.shape
    padded = functional.pad(maps.reshape(-1, 1, height, width), [filters.shape[-1] // 2] * 4, mode="reflect")
    responses = functional.conv2d(padded, filters)
    found = (responses[:, 0::2] ** 2 + responses[:, 1::2] ** 2 + 1e-4).sqrt()
    return 4 * found.reshape(count, channels * found.shape[1], height, width)


def averages(images: Tensor) -> tuple[Tensor, Tensor]:
    """Features (N, F), and the fewer of them (N, f) that random cosines are taken of, of images (N, 1, H, W)."""
    first = torch.cat([moduli(images, FINE), moduli(images, COARSE)], dim=1)
    again = moduli(functional.avg_pool2d(first[:, : first.shape[1] // 2], 2), COARSE)
    one, other = torch.triu_indices(first.shape[1], first.shape[1])
    products = functional.adaptive_avg_pool2d(first[:, one] * first[:, other], 4)
    coarse = [functional.avg_pool2d(first, 4).flatten(1), functional.adaptive_avg_pool2d(again, 4).flatten(1)]
    pixels = [images.flatten(1), images.flatten(1) ** 2, products.flatten(1)]
    return torch.cat([*coarse, *pixels], dim=1), torch.cat([*coarse, functional.avg_pool2d(images, 4).flatten(1)], dim=1)


class Features:
    """Averages and random cosines, each over its deviation among draws."""

    def __init__(self, draws: Tensor) -> None:
        with torch.no_grad():
            wide, narrow = averages(draws)
        self.scale, self.mean, self.width = deviations(wide), narrow.mean(0), deviations(narrow)
        whitened = (narrow - self.mean) / self.width
        generator = torch.Generator().manual_seed(1)
        typical = torch.cdist(whitened[:CHUNK], whitened[:CHUNK]).median()
        self.turns = 1.5 * torch.randn(narrow.shape[1], COSINES, generator=generator) / typical
        self.phases = 2 * torch.pi * torch.rand(COSINES, generator=generator)

    def __call__(self, images: Tensor) -> Tensor:
        """(N, F + cosines)."""
        wide, narrow = averages(images)
        return torch.cat([wide / self.scale, HEAVIER * torch.cos((narrow - self.mean) / self.width @ self.turns + self.phases)], dim=1)

    def means(self, images: Tensor) -> Tensor:
        """Means of the features (F + cosines,) over images, a part of them at a time."""
        with torch.no_grad():
            return torch.stack([self(part).sum(0) for part in images.split(CHUNK)]).sum(0) / len(images)


def deviations(features: Tensor) -> Tensor:
    """Deviations (F,), none far below the widest."""
    found = features.std(0)
    return found + LEAST * found.max()


def main() -> None:
    """The table, a row at a time."""
    asked = Asked.of_command_line(__doc__, bound=10.0)
    data, held_out, classes = asked.dataset.train, asked.dataset.held_out, asked.dataset.facts.num_classes
    plan, state = trained("cluster-moments", asked.dataset, asked.mu, asked.delta, asked.seed)
    draws = sample(plan, state, SAMPLES, balanced=True)
    assert draws.labels is not None
    assert data.labels is not None
    first, records = torch.from_numpy(to_unit_range(draws.records)), torch.from_numpy(to_unit_range(data.records))
    features, places = Features(first[:SOME]), [np.flatnonzero(draws.labels == label) for label in range(classes)]
    targets = [features.means(records[np.flatnonzero(data.labels == label)]) for label in range(classes)]
    changed = first.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([changed], lr=RATE)
    print(f"{asked}\n\n| steps | squared difference of means | an image moved by | CNN of seed 0 | CNN of seed 1 |\n|---|---|---|---|---|")
    for step in range(STEPS + 1):
        optimizer.zero_grad()
        total = 0.0
        for place, target in zip(places, targets, strict=True):
            loss = ((features(changed[place]).mean(0) - target) ** 2).mean()
            (loss * len(place)).backward()
            total += loss.item() / classes
        if step % SHOWN == 0:
            images = changed.detach().clamp(-1, 1)
            moved = float((images - first).square().mean().sqrt())
            labels, weights = np.eye(classes)[draws.labels], np.ones(len(images))
            found = [accuracy(images.numpy(), labels, weights, held_out, seed) for seed in CNN_SEEDS]
            print(f"| {step} | {total:.4f} | {moved:.3f} | {found[0]:.3f} | {found[1]:.3f} |", flush=True)
        optimizer.step()


if __name__ == "__main__":
    main()
