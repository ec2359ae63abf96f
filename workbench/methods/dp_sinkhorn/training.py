"""DP-Sinkhorn's training: generated images, the noisy gradient of their divergence from a batch of records, and the generator's step."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_sinkhorn.method import AVERAGE, IMAGES, DPSinkhornConfig
from workbench.methods.dp_sinkhorn.transport import class_weights, costs, transport_plan
from workbench.models import label_counts
from workbench.models.embeddings import generators
from workbench.models.embeddings.config import GENERATOR, columns
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.kept_gradient import KeptGradient
from workbench.training.microbatch import Microbatch
from workbench.training.mixing import Losses
from workbench.training.ordinary_training import set_learning_rate
from workbench.training.per_record.clipping import clipping_factors
from workbench.training.private_training import PrivateTraining
from workbench.training.state import State, Step

FEWEST = 2  # images that batch normalisation can take


class Canvas(nn.Module):
    """The generated images of a step as a parameter, so that a private step clips the gradient by all of them, and adds noise to it."""

    def __init__(self, images: Tensor) -> None:
        super().__init__()
        self.images = nn.Parameter(images)


def initial_state(config: DPSinkhornConfig, facts: DatasetFacts, state: State) -> State:
    """The generator, its moving average, Adam, and an optimiser that keeps the noisy gradient by generated images."""
    generator = networks.initialized(lambda: generators.new_generator(config, facts), state.randomness.torch_generator("initialisation"))
    generator = generator.to(state.device)
    average = networks.ExponentialMovingAverage(generator, config.ema_decay).to(state.device)
    canvas = Canvas(torch.zeros(config.training.images, *facts.shape, device=state.device))
    state.modules = {GENERATOR: generator, AVERAGE: average}
    state.optimizers = {
        IMAGES: KeptGradient(canvas),
        GENERATOR: torch.optim.Adam(generator.parameters(), lr=config.training.learning_rate),
    }
    label_counts.add_to(config.labels, facts, state)
    return state


def fit(config: DPSinkhornConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Counts of labels if asked for; then noisy gradients by generated images, each carried on into the generator."""
    yield from label_counts.release(config.labels, data, state)
    kept = state.optimizers[IMAGES]
    assert isinstance(kept, KeptGradient)
    turn = Turn(config, state, kept)
    rows = np.zeros(len(data), np.int64) if data.labels is None else data.labels
    entries = (Images(data, state.device), *(torch.from_numpy(values).to(state.device) for values in (rows, data.mask)))
    private = PrivateTraining(config.training, IMAGES, turn.canvas, state, entries, turn.losses, present=data.mask)
    for number in range(state.steps.get(IMAGES, 0) + 1, config.training.steps + 1):
        step = private.step(number)
        turn.finish(number, kept.gradients[0])
        yield step


class Turn:
    """What a step generates, its divergence from a batch, and the generator's step along the noisy gradient of that."""

    def __init__(self, config: DPSinkhornConfig, state: State, kept: KeptGradient) -> None:
        self.config, self.state, self.classes = config, state, columns(state.facts)
        (parameter,) = kept.param_groups[0]["params"]
        self.canvas = Canvas(parameter)
        self.canvas.images = parameter
        self.made = self.rows = self.own_plan = torch.zeros(0)

    def losses(self, batch: tuple[Tensor, ...]) -> Losses:
        """The divergence of images that are generated now from the records of the batch that are present, as a scalar."""
        records, rows, present = batch
        training = self.config.training
        size = training.images if training.generated == "constant" else max(FEWEST, len(records))
        self.generate(self.state.steps.get(IMAGES, 0) + 1, size)

        def loss(_part: Microbatch) -> Tensor:
            return self.divergence(records[present], rows[present])

        return loss

    def generate(self, step: int, size: int) -> None:
        """`size` images of all classes in turn, and those that G' has anew; no record has a part in them, but for how many there are."""
        anew = round(size * self.config.transport.fresh)
        draw = self.state.randomness.torch_generator(GENERATOR, step)
        latent = torch.randn(size + anew, self.config.latent_size, generator=draw).to(self.state.device)
        self.rows = torch.cat([torch.arange(size), torch.arange(anew)]).to(self.state.device) % self.classes
        self.made = self.state.modules[GENERATOR].train()(latent, self.rows)
        self.canvas.images.data = self.made[:size].detach()
        self.own_plan = self.plan(self.own_costs(self.canvas.images.detach(), self.made[size:].detach()))

    def divergence(self, records: Tensor, rows: Tensor) -> Tensor:
        """2 W(G, X) - W(G, G') of the canvas G and records X, a scalar; zero without a record (Cao et al. 2021, eq. 8)."""
        images = self.canvas.images
        if not len(records):
            return 0.0 * images.sum()
        own_rows = self.rows[: len(images)]
        cost = self.costs(images, records, own_rows, rows)
        weights = class_weights(own_rows, rows, self.classes) if self.config.transport.weights == "batch" else None
        own = (self.own_plan * self.own_costs(images, self.made[len(images) :].detach())).sum()
        return 2.0 * (self.plan(cost, weights) * cost).sum() - own

    def own_costs(self, images: Tensor, anew: Tensor) -> Tensor:
        """Between G and G': the last images of G' are anew, the others are the first of G."""
        size, kept = len(images), len(images) - len(anew)
        rows = torch.cat([self.rows[:kept], self.rows[size:]])
        return self.costs(images, torch.cat([images[:kept], anew]), self.rows[:size], rows)

    def costs(self, ones: Tensor, others: Tensor, rows: Tensor, other_rows: Tensor) -> Tensor:
        """Of moving one image to another, with their classes."""
        return costs(ones, others, rows, other_rows, self.config.transport.absolute, self.config.transport.label_weight)

    def plan(self, cost: Tensor, weights: Tensor | None = None) -> Tensor:
        """The entropic plan, held fixed: at the optimum, the gradient of entropic transport is that of <plan, cost>."""
        return transport_plan(cost.detach(), self.config.transport.blur, self.config.transport.iterations, weights)

    def finish(self, step: int, gradient: Tensor) -> None:
        """The generator's step along the released gradient by G, and along that of - W(G, G') by the images anew, which no record is in.

        The latter is clipped to the same norm, so that it does not outweigh the former.
        """
        optimizer, generator = self.state.optimizers[GENERATOR], self.state.modules[GENERATOR]
        set_learning_rate(optimizer, self.config.training.learning_rate_at(step))
        optimizer.zero_grad(set_to_none=True)
        self.made.backward(torch.cat([gradient, self.anew_gradient(step, len(gradient))]))
        optimizer.step()
        average = self.state.modules[AVERAGE]
        assert isinstance(average, networks.ExponentialMovingAverage)
        average.update(generator)

    def anew_gradient(self, step: int, size: int) -> Tensor:
        """That of - W(G, G') by the images anew, clipped."""
        anew = self.made[size:].detach().requires_grad_(True)
        if not len(anew):
            return anew.detach()
        (gradient,) = torch.autograd.grad(-(self.own_plan * self.own_costs(self.made[:size].detach(), anew)).sum(), anew)
        (norm,) = self.config.training.thresholds_at(step)
        return gradient * clipping_factors(gradient.norm(), norm)


def sample(config: DPSinkhornConfig, state: State, request: SampleRequest) -> Records:
    """Images of the averaged generator for standard normal inputs; labels follow their counts, if these are released."""
    average = state.modules[AVERAGE]
    assert isinstance(average, networks.ExponentialMovingAverage)
    return generators.sampled(config, average.module, state, request)
