"""DP-FETA's training: central images, a warm-up on them (and on a generator's images), then DP-SGD on EDM's loss."""

from collections.abc import Iterator

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.diffusion.edm import EDM
from workbench.methods.class_moments.training import labels_of, vectors
from workbench.methods.dp_feta.method import CENTRAL, GENERATED, WARM_UP, CentralImages, DPFETAConfig
from workbench.methods.dp_merf import training as dp_merf
from workbench.models import denoising, edm_images, pretrained
from workbench.models.denoising import Denoiser
from workbench.models.embeddings.config import GENERATOR
from workbench.models.sample_request import SampleRequest, Source
from workbench.models.settings import DP_SGD
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

FILTERED = 28  # pixels a side from which images are smoothed and sharpened: on 8x8 a median would leave nothing


def initial_state(config: DPFETAConfig, facts: DatasetFacts, state: State) -> State:
    """The network, its averages, an Adam a stage, room for the central images, and DP-MERF's generator if there will be one."""
    pretrained.initial_state(config, facts, state, config.training, DP_SGD)
    network = pretrained.network_of(state)
    state.optimizers[WARM_UP] = torch.optim.Adam(network.parameters(), lr=config.warm_up.learning_rate)
    numbers = config.central.batches, max(facts.num_classes, 1), *config.central.pooled_shape(facts)
    state.tensors["central"] = torch.zeros(numbers, dtype=torch.float64, device=state.device)
    if config.embedding.released:
        state.optimizers[GENERATED] = torch.optim.Adam(network.parameters(), lr=config.warm_up.learning_rate)
        merf = dp_merf.initial_state(config.embedding.merf, facts, State(facts, state.randomness, state.performance))
        state.modules |= merf.modules
        state.optimizers |= {GENERATOR: merf.optimizers[GENERATOR]}
        state.tensors |= merf.tensors
    return state


def fit(config: DPFETAConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Each stage from where it stands."""
    edm = EDM(config.diffusion)

    def losses(network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return edm_images.row_losses(edm, network, batch, config.label_dropout)

    yield from pretrained.pretrain(config, data, public, state, edm_images.ordinary_loss)
    yield from release_central(config.central, data, state)
    yield from warm_up(config, WARM_UP, central_images(config.central, state), state)
    if config.embedding.released:
        yield from dp_merf.fit(config.embedding.merf, data, None, state)
        yield from warm_up(config, GENERATED, generated_images(config, state), state)
    yield from pretrained.fine_tune(config.training, DP_SGD, data, state, losses)


def release_central(config: CentralImages, data: Records, state: State) -> Iterator[Step]:
    """A central image of every class from each Poisson batch, recorded as spent before a record is read."""
    planned, grid = config.steps(state.facts), grid_of(config, state.facts)
    for step in range(state.steps.get(CENTRAL, 0) + 1, planned.steps + 1):
        state.spend(CENTRAL, step)
        drawn = planned.batches.drawn(state.randomness, f"{CENTRAL} batch", step, len(data))
        total = sums(config, data.take(drawn), grid, state.facts)
        noisy = state.randomness.release(CENTRAL, step, total, grid)
        state.tensors["central"][step - 1] = torch.from_numpy(noisy).view(-1, *config.pooled_shape(state.facts)).to(state.device)
        state.steps[CENTRAL] = step
        yield Step(CENTRAL, step, planned.steps)


def grid_of(config: CentralImages, facts: DatasetFacts) -> Grid:
    """Where sums are released, or means: then the noise of a mean is that of the sum over the expected number of records."""
    planned, norm = config.steps(facts), config.norm(facts)
    unit = 1.0 if config.divisor == "constant" else planned.divisor
    return Grid(planned.deviation * norm / unit, norm, facts.num_records)


def sums(config: CentralImages, drawn: Records, grid: Grid, facts: DatasetFacts) -> np.ndarray:
    """Clipped images summed by class (classes, D), in steps of the grid; as the code has it, means over those that were drawn."""
    total = np.zeros((max(facts.num_classes, 1), grid_numbers(config, facts)), np.int64)
    counts = np.zeros(len(total), np.int64)
    for start in range(0, len(drawn), 1000):
        part = drawn.take(slice(start, start + 1000))
        np.add.at(total, labels_of(part), grid.truncated(vectors(part, config.pooling)) * part.mask[:, None])
        np.add.at(counts, labels_of(part), part.mask)
    return total if config.divisor == "constant" else total // np.maximum(counts, 1)[:, None]


def grid_numbers(config: CentralImages, facts: DatasetFacts) -> int:
    """Numbers of a central image."""
    return int(np.prod(config.pooled_shape(facts)))


def means(config: CentralImages, state: State) -> Tensor:
    """The released means (batches, classes, C, H, W), pixels in [0, 1] but for the noise."""
    noisy = state.tensors["central"].cpu()
    return noisy / config.steps(state.facts).divisor if config.divisor == "constant" else noisy


def central_images(config: CentralImages, state: State) -> Records:
    """The released images as records of the dataset's shape and classes: clamped, drawn as large again, large ones filtered."""
    noisy = means(config, state)
    images = torch.nn.functional.interpolate(
        noisy.flatten(0, 1).clamp(0.0, 1.0), size=state.facts.shape[1:], mode="bilinear", align_corners=False
    ).numpy()
    images = filtered_images(images) if min(images.shape[2:]) >= FILTERED else images
    labels = np.tile(np.arange(noisy.shape[1], dtype=np.int64), len(noisy)) if state.facts.num_classes else None
    return Records(to_uint8(2.0 * images - 1.0), labels)


def filtered_images(images: np.ndarray) -> np.ndarray:
    """Images (N, C, H, W) in [0, 1] after a median of 3x3 pixels, and what that keeps of contrast over its surroundings once more."""
    smooth = ndimage.median_filter(images, size=(1, 1, 3, 3))
    return np.clip(2.0 * smooth - ndimage.gaussian_filter(smooth, sigma=(0, 0, 1.0, 1.0)), 0.0, 1.0)


def generated_images(config: DPFETAConfig, state: State) -> Records:
    """Images of DP-MERF's generator, all classes in turn."""
    return dp_merf.sample(config.embedding.merf, state, SampleRequest(config.embedding.images, purpose=GENERATED))


def warm_up(config: DPFETAConfig, stage: str, images: Records, state: State) -> Iterator[Step]:
    """Ordinary steps on images that are released already."""
    settings = config.warm_up
    loss = edm_images.ordinary_loss(config, images, state, stage, settings.batch_size, config.label_dropout)
    yield from OrdinaryTrainer(settings, stage, state, loss, private=False, averages={"ema": "network"}).run()


def sample(config: DPFETAConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average; source 'public' takes the one from before any private record."""
    return pretrained.sample(config, state, request, edm_images.draw_samples)


def denoiser(config: DPFETAConfig, state: State, source: Source) -> Denoiser:
    """The moving average of the weights; that of public pre-training alone for the source "public"."""
    return denoising.of_edm(config, pretrained.averaged(state, source), state)
