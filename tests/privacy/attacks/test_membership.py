"""Why phase I with the printed regression target has no bound: gradients of a linear network give records and members away."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.slow_tier import DATA

from workbench import datasets

Floats = NDArray[np.float64]
BATCH_SIZE, NUM_OTHERS = 32, 300
FIRST, LAST = 900, 1000  # phase I of dp-promise
ALPHAS_CUMPROD = np.cumprod(1 - np.linspace(1e-4, 2e-2, 1000))


class LinearNetwork:
    """z(x) = W x + b, trained by the paper's phase I: mean squared error against the noise that was added."""

    def __init__(self, num_dimensions: int, generator: np.random.Generator) -> None:
        self.weight = generator.standard_normal((num_dimensions, num_dimensions)) / np.sqrt(num_dimensions)
        self.bias = np.zeros(num_dimensions)

    def gradients(self, images: Floats, timesteps: NDArray[np.int64], generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Mean gradients of weight (d, d) and bias (d,) over images (B, d) at time steps (B,)."""
        alpha, sigma = scales(timesteps)
        noise = generator.standard_normal(images.shape)
        noised = alpha[:, None] * images + sigma[:, None] * noise
        error = 2 * (noised @ self.weight.T + self.bias - noise) / len(images)
        return error.T @ noised, error.sum(axis=0)

    def residuals(self, gradient: Floats, candidates: Floats) -> Floats:
        """How far each candidate (N, d) is from the span that a batch's weight gradient confines its members to, relative: (N,).

        The smallest over the time steps of phase I of the distance of sqrt(abar) x + sqrt(1 - abar) b from
        span{(I - sqrt(1 - abar) W) R, C}, R and C bases of the gradient's row and column spaces.
        """
        left, size, right = np.linalg.svd(gradient)
        rank = int((size > 1e-10 * size[0]).sum())
        columns, rows = left[:, :rank], right[:rank].T
        least = np.full(len(candidates), np.inf)
        for t in range(FIRST, LAST + 1):
            alpha, sigma = scales(np.array(t))
            basis, _ = np.linalg.qr(np.concatenate([rows - sigma * (self.weight @ rows), columns], axis=1))
            target = alpha * candidates + sigma * self.bias
            distance = np.linalg.norm(target - (target @ basis) @ basis.T, axis=1)
            least = np.minimum(least, distance / np.linalg.norm(target, axis=1))
        return least


def scales(timesteps: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """sqrt(abar_t) and sqrt(1 - abar_t)."""
    kept = ALPHAS_CUMPROD[timesteps - 1]
    return np.sqrt(kept), np.sqrt(1 - kept)


def attack(images: Floats, num_batches: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Residuals of the members of each batch, and of records outside of it, given one mean gradient and the network."""
    network = LinearNetwork(images.shape[1], generator)
    picked = images[generator.permutation(len(images))[: num_batches * BATCH_SIZE + NUM_OTHERS]]
    others = picked[num_batches * BATCH_SIZE :]
    inside, outside = [], []
    for batch in picked[: num_batches * BATCH_SIZE].reshape(num_batches, BATCH_SIZE, -1):
        gradient, _ = network.gradients(batch, generator.integers(FIRST, LAST + 1, BATCH_SIZE), generator)
        residuals = network.residuals(gradient, np.concatenate([batch, others]))
        inside.append(residuals[:BATCH_SIZE])
        outside.append(residuals[BATCH_SIZE:])
    return np.concatenate(inside), np.concatenate(outside)


@pytest.fixture(scope="module")
def glyphs() -> Floats:
    """Public drawn digits of 28x28 in [-1, 1]: (N, 784)."""
    records = datasets.load_public("glyphs", (1, 28, 28), 400).train.records
    return records.reshape(len(records), -1) / 127.5 - 1


def test_one_mean_gradient_of_32_images_decides_membership(glyphs: Floats) -> None:
    inside, outside = attack(glyphs, 1, np.random.default_rng(0))
    assert inside.max() < 1e-11
    assert outside.min() > 0.05


def test_a_batch_of_one_is_reconstructed(glyphs: Floats) -> None:
    generator = np.random.default_rng(0)
    network, timesteps = LinearNetwork(784, generator), np.array([950])
    weight, bias = network.gradients(glyphs[:1], timesteps, generator)
    noised = weight.T @ bias / (bias @ bias)
    noise = network.weight @ noised + network.bias - bias / 2
    alpha, sigma = scales(timesteps)
    np.testing.assert_allclose((noised - sigma * noise) / alpha, glyphs[0], atol=2e-12)


@pytest.mark.slow(depends=["workbench/datasets/**"])
def test_membership_on_mnist(figures: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    if DATA is None or not (Path(DATA) / "mnist").is_dir():
        pytest.skip("needs MNIST: set WORKBENCH_DATA to a folder with mnist/")
    monkeypatch.setenv("WORKBENCH_DATA", os.path.abspath(DATA))
    records = datasets.load("mnist").train.records
    inside, outside = attack(records.reshape(len(records), -1) / 127.5 - 1, 3, np.random.default_rng(0))
    figures |= {"members": len(inside), "largest residual of a member": float(inside.max())}
    figures |= {"others": NUM_OTHERS, "smallest residual of another": float(outside.min())}
    assert inside.max() <= 5e-13
    assert outside.min() > 0.1
