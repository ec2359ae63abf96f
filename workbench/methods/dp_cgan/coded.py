"""DP-CGAN as coded, for study: batches in one order, a discriminator that normalises over them, their labels for the generator."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from workbench.datasets.base import to_unit_range
from workbench.methods.dp_cgan.method import DPCGANConfig
from workbench.models.adversarial.config import AVERAGE, CRITIC
from workbench.models.adversarial.losses import CRITIC_LOSSES
from workbench.models.adversarial.private import classes_of
from workbench.models.adversarial.turns import drawn, generator_loss, take_turns
from workbench.models.embeddings.config import GENERATOR
from workbench.models.settings import DP_SGD
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.per_record.clipping import clipping_factors
from workbench.training.private_optimizer import PrivateOptimizer
from workbench.training.private_training import check_planned
from workbench.training.state import State, Step


def normalise_over_batches(network: nn.Module) -> None:
    """Put batch normalisation in the place of every group normalisation inside."""
    for module in network.modules():
        for name, layer in module.named_children():
            if isinstance(layer, nn.GroupNorm):
                setattr(module, name, nn.BatchNorm2d(layer.num_channels))


def fit(config: DPCGANConfig, data: Records, state: State) -> Iterator[Step]:
    """A step of the discriminator and one of the generator on the labels of its batch, `critic_steps` to one; both look at records."""
    training, randomness, per_turn = config.training, state.randomness, config.generator.critic_steps
    planned = training.private_steps(DP_SGD, state.facts.num_records)
    check_planned(planned, state)
    critic, generator, labels = state.modules[CRITIC].train(), state.modules[GENERATOR], classes_of(data)
    optimizer = PrivateOptimizer(
        state.optimizers[DP_SGD],
        noise_multiplier=planned.deviation,
        max_grad_norm=training.max_grad_norm,
        divisor=planned.divisor,
        expected_batch_size=planned.divisor,
        randomness=randomness,
        purpose=f"{DP_SGD}: noise",
    )

    def batch(step: int, stage: str) -> tuple[Tensor, Tensor, Tensor]:
        places = planned.batches.drawn(randomness, DP_SGD, step, len(data))
        places = places[data.mask[places]]
        images = torch.from_numpy(to_unit_range(np.asarray(data.records[places]))).to(state.device)
        draw = randomness.torch_generator(f"{stage}: latents", step)
        return images, labels[places].to(state.device), torch.randn(len(places), config.latent_size, generator=draw).to(state.device)

    def generated(step: int) -> Tensor:
        _, classes, latents = batch(step * per_turn, GENERATOR)
        if len(classes) < 2:  # as few as no network can normalise over
            latents, classes = drawn(state, 2, config.latent_size, f"{GENERATOR}: batch", step)
        return generator_loss(generator.train(), critic, config.loss, latents, classes)

    def critic_step(step: int) -> Step:
        state.spend(DP_SGD, step)
        images, classes, latents = batch(step, DP_SGD)
        if len(images) > 1:
            with torch.no_grad():
                others = generator.train()(latents, classes)
            for shown, real in ((images, True), (others, False)):
                losses = CRITIC_LOSSES[config.loss](critic(shown, classes), torch.full((len(shown),), real, device=state.device))
                optimizer.add_clipped(clipped_sum(losses, critic, training.max_grad_norm))
        optimizer.noise_step = step
        optimizer.step()
        optimizer.zero_grad()
        state.steps[DP_SGD] = step
        return Step(DP_SGD, step, planned.steps)

    steps, averages = config.generator.training(training.steps), {AVERAGE: GENERATOR}
    follower = OrdinaryTrainer(steps, GENERATOR, state, generated, private=True, averages=averages)
    yield from take_turns(DP_SGD, critic_step, planned.steps, follower, per_turn, state)


def clipped_sum(losses: Tensor, network: nn.Module, norm: float) -> dict[nn.Parameter, Tensor]:
    """The sum of the gradients of `losses` (B,), each clipped; each is one of all records where the network mixes these."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    total = {parameter: torch.zeros_like(parameter) for parameter in parameters}
    for loss in losses:
        gradients = torch.autograd.grad(loss, parameters, retain_graph=True)
        length = torch.stack([gradient.double().square().sum() for gradient in gradients]).sum().sqrt()
        factor = clipping_factors(length, norm).float()
        for parameter, gradient in zip(parameters, gradients, strict=True):
            total[parameter] += factor * gradient
    return total
