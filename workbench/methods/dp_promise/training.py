"""dp-promise's training: public pre-training, phase one on released records, phase two by DP-SGD (Algorithm 1)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts, to_unit_range
from workbench.diffusion import build_diffusion
from workbench.methods.dp_promise import phases
from workbench.methods.dp_promise.phases import PHASE_ONE, PHASE_TWO, PRETRAINING, RELEASE, DPPromiseConfig
from workbench.models import denoising, image_diffusion, pretrained
from workbench.models.denoising import Denoiser
from workbench.models.sample_request import SampleRequest, Source
from workbench.models.settings import is_pretrained
from workbench.records import Records
from workbench.training.entries import Entries
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.poisson import fixed_size_batch, poisson_batch
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: DPPromiseConfig, facts: DatasetFacts, state: State) -> State:
    """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
    network = pretrained.new_modules(config, facts, state)
    tuned = network.parameters_beside_time() if is_pretrained(config) else list(network.parameters())
    refined = network.parameters_up() if config.phase_two.trained == "up" else tuned
    state.optimizers = {
        PRETRAINING: torch.optim.Adam(network.parameters(), lr=config.pretraining.learning_rate),
        PHASE_ONE: torch.optim.Adam(tuned, lr=config.phase_one.learning_rate),
        PHASE_TWO: torch.optim.Adam(refined, lr=config.phase_two.learning_rate),
    }
    if config.phase_one.steps and config.targets == "one-shot":
        state.tensors = copies_to_come(facts, state)
    pretrained.add_selection(config, network, facts, state)
    return state


def fit(config: DPPromiseConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Algorithm 1: pre-train on public records, which fixes the time embedding, then phase one, then phase two.

    Without labels, where the model has none.
    """
    if not config.conditional:
        data, public = replace(data, labels=None), None if public is None else replace(public, labels=None)
    yield from pretrained.pretrain(config, data, public, state, image_diffusion.ordinary_loss)
    if config.phase_one.steps and config.targets == "one-shot":
        yield from release_copies(config, data, state)
    if is_pretrained(config):
        pretrained.network_of(state).freeze_time()
    if config.phase_one.steps:
        yield from train_phase_one(config, data, state)
    yield from train_phase_two(config, data, state)


def train_phase_one(config: DPPromiseConfig, data: Records, state: State) -> Iterator[Step]:
    """Unconditional training of the time steps beyond the boundary."""
    network = image_diffusion.ordinary(pretrained.start_from_average(state, PHASE_ONE)[0], state)
    if config.targets == "one-shot":
        loss = partial(one_shot_loss, config, network, state)
    elif config.targets == "renoised":
        loss = partial(renoised_loss, config, network, image_diffusion.entries(data, state.device)[0], state)
    else:
        images, _ = image_diffusion.entries(data, state.device)
        present = torch.from_numpy(data.mask).to(state.device)
        loss = partial(paper_loss, config, network, images, present, state)
    private = config.targets != "one-shot"
    yield from OrdinaryTrainer(config.phase_one, PHASE_ONE, state, loss, private=private, averages={"ema": "network"}).run()


def train_phase_two(config: DPPromiseConfig, data: Records, state: State) -> Iterator[Step]:
    """DP-SGD on the time steps up to the boundary, with labels, if any, and noise multiplicity."""
    diffusion = build_diffusion(config.diffusion)
    last = config.last_private_timestep - (1 if config.targets == "paper" and config.phase_one.steps else 0)

    def row_losses(network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return image_diffusion.row_losses(diffusion, network, batch, last)

    if config.phase_two.trained == "up":
        pretrained.network_of(state).freeze_but_up()
    yield from pretrained.fine_tune(config.phase_two, PHASE_TWO, data, state, row_losses)


def renoised_loss(config: DPPromiseConfig, network: Callable[..., Tensor], images: Entries, state: State, step: int) -> Tensor:
    """Release y ~ q(x_S | x) of a fresh fixed-size batch; regress on the noise that leads from y to later steps.

    A null record's image is zero, so that its part of the release is noise alone.
    """
    chosen = fixed_size_batch(state.randomness, "phase one batch", step, len(images), config.phase_one.batch_size)
    batch = images[torch.from_numpy(chosen).to(images.device)]
    noised = phases.noised_images(config, batch.flatten(1).cpu().numpy(), state.randomness, "phase one release", step)
    released = torch.from_numpy(noised.astype(np.float32)).view(batch.shape).to(images.device)
    return post_processing_loss(config, network, released, state, step)


def post_processing_loss(config: DPPromiseConfig, network: Callable[..., Tensor], released: Tensor, state: State, step: int) -> Tensor:
    """The regression on released y (B, C, H, W), several times each: no record enters but through y.

    L = || w - sqrt((1 - r) / (1 - abar_t)) z_theta(sqrt(r) y + sqrt(1 - r) w, t) ||^2 with r = abar_t / abar_S.
    """
    diffusion, boundary = build_diffusion(config.diffusion), config.last_private_timestep
    released = released.repeat(config.phase_one.draws, 1, 1, 1)
    draw = state.randomness.torch_generator("phase one times", step)
    times = torch.randint(boundary + 1, diffusion.timesteps + 1, (len(released),), generator=draw).to(released.device)
    fresh = torch.randn(released.shape, generator=draw).to(released.device)
    alphas = torch.tensor(diffusion.schedule.alphas_cumprod, dtype=torch.float32, device=released.device)
    kept = (alphas[times] / alphas[boundary]).view(-1, 1, 1, 1)  # r
    factor = ((1 - kept) / (1 - alphas[times].view(-1, 1, 1, 1))).sqrt()
    noisy = kept.sqrt() * released + (1 - kept).sqrt() * fresh
    predicted = diffusion.predict_noise(network(noisy, times, torch.zeros_like(times)), noisy, times)
    return (fresh - factor * predicted).square().mean()


def paper_loss(
    config: DPPromiseConfig, network: Callable[..., Tensor], images: Entries, present: Tensor, state: State, step: int
) -> Tensor:
    """Algorithm 1, lines 2 to 6: a Poisson batch, times in S..T, and the noise itself as the target; a null record's loss is zero."""
    diffusion = build_diffusion(config.diffusion)
    rate = config.phase_one.batch_size / len(images)
    chosen = poisson_batch(state.randomness, "phase one batch", step, len(images), rate)
    index = torch.from_numpy(chosen).to(images.device)
    batch = images[index]
    draw = state.randomness.torch_generator("phase one times", step)
    times = torch.randint(config.last_private_timestep, diffusion.timesteps + 1, (len(batch),), generator=draw).to(images.device)
    noise = torch.randn(batch.shape, generator=draw).to(images.device)
    rows = torch.zeros_like(times)
    losses = image_diffusion.plain_loss(diffusion, network, batch, rows, times, noise)
    return (losses * present[index]).sum() / max(len(batch), 1)


COPIES = "noised copies"  # the state's tensor, float16 (N, C, H, W): rounding what is released tells nothing more
CHUNK = 500  # records noised at once


def copies_to_come(facts: DatasetFacts, state: State) -> dict[str, Tensor]:
    """Room for the noised copies."""
    return {COPIES: torch.zeros((facts.num_records, *facts.shape), dtype=torch.float16, device=state.device)}


def release_copies(config: DPPromiseConfig, data: Records, state: State) -> Iterator[Step]:
    """Every record once as y = sqrt(abar_S) x + sqrt(1 - abar_S) zeta, recorded as spent before a record is read."""
    if state.steps.get(RELEASE, 0) == 0:
        state.spend(RELEASE, 1)
        for number, start in enumerate(range(0, len(data), CHUNK)):
            part = data.take(slice(start, start + CHUNK))
            state.tensors[COPIES][start : start + CHUNK] = noised_copies(config, part, state, number).to(state.device)
        state.steps[RELEASE] = 1
        yield Step(RELEASE, 1, 1)


def noised_copies(config: DPPromiseConfig, part: Records, state: State, number: int) -> Tensor:
    """Copies (B, C, H, W) of chunk `number`, float16; a null record's image is zero, so that its copy is noise alone."""
    images = to_unit_range(part.records).reshape(len(part), -1) * part.mask[:, None]
    released = phases.noised_images(config, images, state.randomness, RELEASE, number)
    return torch.from_numpy(released.astype(np.float16)).view(part.records.shape)


def one_shot_loss(config: DPPromiseConfig, network: Callable[..., Tensor], state: State, step: int) -> Tensor:
    """The renoised loss on a batch of the copies, which are public: any batch and any number of steps is free."""
    copies = state.tensors[COPIES]
    chosen = fixed_size_batch(state.randomness, "phase one batch", step, len(copies), config.phase_one.batch_size)
    released = copies[torch.from_numpy(chosen).to(copies.device)].float()
    return post_processing_loss(config, network, released, state, step)


def sample(config: DPPromiseConfig, state: State, request: SampleRequest) -> Records:
    """Algorithm 2 with the moving average; source 'public' takes the one from before phase one."""
    return pretrained.sample(config, state, replace(request, labelled=config.conditional), image_diffusion.draw_samples)


def denoiser(config: DPPromiseConfig, state: State, source: Source) -> Denoiser:
    """The moving average of the weights; that of public pre-training alone for the source "public"."""
    return denoising.of_diffusion(config, pretrained.averaged(state, source), state)
