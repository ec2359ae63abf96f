"""GS-WGAN's training: critics that learn from parts of the records in the room, and a generator by noisy gradients of its images."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.methods.gs_wgan.method import AVERAGE, CRITICS, GENERATOR, GRADIENTS, WARM_UP, Generator, GSWGANConfig
from workbench.models.adversarial.turns import frozen
from workbench.models.embeddings.config import columns
from workbench.models.sample_request import SampleRequest
from workbench.networks import Critic, ExponentialMovingAverage
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.grid import Grid
from workbench.training.ordinary_training import set_learning_rate
from workbench.training.parts import Parts
from workbench.training.poisson import fixed_size_batch
from workbench.training.state import State, Step

DRIFT = 1e-3  # weight of a record's squared score, as the code has it
IN_ONE_PASS = 1_000  # samples


class DenseGenerator(nn.Module):
    """Normal inputs (B, latent) and classes int64 (B,) to images (B, C, H, W) in [-1, 1]; every row is normalised by itself.

    Nothing of it changes but by its optimiser: critics learn from its images at classes of records, which batch statistics would keep.
    """

    def __init__(self, settings: Generator, facts: DatasetFacts) -> None:
        super().__init__()
        self.classes = columns(facts)
        size, layers = settings.latent_size + self.classes, list[nn.Module]()
        for _ in range(settings.hidden_layers):
            layers += [nn.Linear(size, settings.hidden_size), nn.LayerNorm(settings.hidden_size), nn.ReLU()]
            size = settings.hidden_size
        self.layers = nn.Sequential(*layers, nn.Linear(size, facts.dimensions), nn.Tanh(), nn.Unflatten(1, facts.shape))

    def forward(self, latents: Tensor, classes: Tensor) -> Tensor:
        """The images."""
        return self.layers(torch.cat([latents, nn.functional.one_hot(classes, self.classes).to(latents.dtype)], dim=1))


def new_critics(config: GSWGANConfig, facts: DatasetFacts) -> nn.ModuleList:
    """A critic for every part."""
    channels, height, width = facts.shape
    shape = channels, height, width
    return nn.ModuleList(Critic(config.critics.network, shape, columns(facts)) for _ in range(config.critics.parts))


def new_adam(module: nn.Module, learning_rate: float) -> torch.optim.Adam:
    """Adam without momentum of long memory, as WGAN-GP has it."""
    return torch.optim.Adam(module.parameters(), lr=learning_rate, betas=(0.5, 0.9), foreach=True)


def initial_state(config: GSWGANConfig, facts: DatasetFacts, state: State) -> State:
    """Generator and average, the critics, an optimiser for either, and the parts."""
    draw = state.randomness.torch_generator("initialisation")
    generator = networks.initialized(lambda: DenseGenerator(config.generator, facts), draw).to(state.device)
    critics = networks.initialized(lambda: new_critics(config, facts), draw).to(state.device)
    average = ExponentialMovingAverage(generator, config.release.ema_decay)
    state.modules = {GENERATOR: generator, AVERAGE: average, CRITICS: critics}
    state.optimizers = {
        GRADIENTS: new_adam(generator, config.release.learning_rate),
        CRITICS: new_adam(critics, config.critics.learning_rate),
    }
    Parts.begun(state, config.critics.parts)
    return state


def fit(config: GSWGANConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """All critics warm up, then some learn and one is asked, in turn, from wherever the state stands."""
    training = Training(config, data, state)
    if config.critics.warm_up:
        for part in range(state.steps.get(WARM_UP, 0), config.critics.parts):
            yield training.warm_up(part)
    for step in range(state.steps.get(GRADIENTS, 0) + 1, config.release.steps + 1):
        if config.release.drawn == "secret" and state.steps.get(CRITICS, 0) < step:
            yield training.learn(step)
        yield training.release(step)


class Training:
    """The steps of one fit."""

    def __init__(self, config: GSWGANConfig, data: Records, state: State) -> None:
        self.config, self.state, settings = config, state, config.critics
        self.parts = Parts.of(state, settings.parts, len(data))
        self.images, self.present = Images(data, state.device), torch.from_numpy(data.mask).to(state.device)
        classes = np.zeros(len(data), np.int64) if data.labels is None else np.where(data.mask, data.labels, 0)
        self.classes = torch.from_numpy(classes.astype(np.int64)).to(state.device)

    @property
    def generator(self) -> nn.Module:
        """The generator that learns."""
        return self.state.modules[GENERATOR]

    def critic(self, part: int) -> Critic:
        """The critic of a part."""
        critics = self.state.modules[CRITICS]
        assert isinstance(critics, nn.ModuleList)
        critic = critics[part]
        assert isinstance(critic, Critic)
        return critic

    def warm_up(self, part: int) -> Step:
        """A critic and a generator that is thrown away learn from each other: neither leaves the room."""
        self.state.spend(WARM_UP, part + 1)
        draw = self.state.randomness.torch_generator(f"{WARM_UP} batches", part + 1)
        generator = networks.initialized(lambda: DenseGenerator(self.config.generator, self.state.facts), draw).to(self.state.device)
        optimizer, loss = new_adam(generator, self.config.critics.learning_rate), 0.0
        for _ in range(self.config.critics.warm_up):
            loss = self.teach([part], generator, draw)
            latents, classes = self.inputs(self.config.critics.batch_size, draw)
            with frozen(self.critic(part)) as critic:
                optimizer.zero_grad(set_to_none=True)
                (-critic(generator(latents, classes), classes).mean()).backward()
                optimizer.step()
        self.state.steps[WARM_UP] = part + 1
        return Step(WARM_UP, part + 1, self.config.critics.parts, {"loss": loss})

    def learn(self, step: int) -> Step:
        """The critics whose turn it is: which these are is public."""
        self.state.spend(CRITICS, step)
        draw = self.state.randomness.torch_generator(f"{CRITICS} batches", step)
        turns = min(self.config.critics.turns, self.config.critics.parts)
        loss = self.teach([turn % self.config.critics.parts for turn in range((step - 1) * turns, step * turns)], self.generator, draw)
        self.state.steps[CRITICS] = step
        return Step(CRITICS, step, self.config.release.steps, {"loss": loss})

    def release(self, step: int) -> Step:
        """One critic's gradients with noise, and what the generator makes of them."""
        self.state.spend(GRADIENTS, step)
        settings, randomness = self.config.release, self.state.randomness
        part = int(fixed_size_batch(randomness, f"{GRADIENTS} part", step, self.config.critics.parts, 1)[0])
        if settings.drawn == "trained":
            self.teach([part], self.generator, randomness.torch_generator(f"{CRITICS} batches", step))
        latents, classes = self.inputs(settings.batch_size, randomness.torch_generator(f"{GRADIENTS} images", step))
        images = self.generator(latents, classes)
        noisy = noisy_gradients(self.config, image_gradients(self.critic(part), images, classes), self.state, step)
        self.move(step, images, noisy)
        self.state.steps[GRADIENTS] = step
        return Step(GRADIENTS, step, settings.steps)

    def move(self, step: int, images: Tensor, noisy: Tensor) -> None:
        """A step of the generator along gradients of its images, which may be as wrong as they like."""
        optimizer, average = self.state.optimizers[GRADIENTS], self.state.modules[AVERAGE]
        assert isinstance(average, ExponentialMovingAverage)
        set_learning_rate(optimizer, self.config.release.learning_rate_at(step))
        optimizer.zero_grad(set_to_none=True)
        images.backward(-noisy / len(images))
        optimizer.step()
        average.update(self.generator)

    def inputs(self, size: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
        """Normal inputs (size, latent) and classes int64 (size,), each as likely: of no record."""
        latents = torch.randn(size, self.config.generator.latent_size, generator=draw)
        classes = torch.randint(columns(self.state.facts), (size,), generator=draw)
        return latents.to(self.state.device), classes.to(self.state.device)

    def teach(self, parts: Sequence[int], generator: nn.Module, draw: torch.Generator) -> float:
        """The updates of the critics of some parts, each on records of its own; returns the last mean loss.

        No optimiser but the critics' takes a step.
        """
        settings, optimizer, loss = self.config.critics, self.state.optimizers[CRITICS], torch.zeros(())
        positions = [torch.from_numpy(self.parts.positions(part)) for part in parts]
        shape, critics = (len(parts), settings.batch_size), [self.critic(part) for part in parts]
        for _ in range(settings.updates):
            index = torch.stack([own[torch.randint(len(own), shape[1:], generator=draw)] for own in positions]).flatten()
            index = index.to(self.state.device)
            latents, _ = self.inputs(len(index), draw)
            mixed = torch.rand(len(index), 1, 1, 1, generator=draw).to(self.state.device)
            classes = self.classes[index]
            with torch.no_grad():
                fakes = generator(latents, classes)
            losses = critic_losses(together(critics), self.images[index], fakes, classes, mixed, settings.penalty)
            means = (losses * self.present[index]).view(shape).mean(dim=1)  # null records add nothing
            optimizer.zero_grad(set_to_none=True)
            means.sum().backward()
            optimizer.step()
            loss = means.detach().mean()
        optimizer.zero_grad(set_to_none=True)
        return float(loss)


def together(critics: Sequence[Critic]) -> Callable[[Tensor, Tensor], Tensor]:
    """Critics as one: scores (P B,) of images (P B, C, H, W) and their classes, the first B by the first critic, and so on."""
    if len(critics) == 1:
        return critics[0]
    names = [name for name, _ in critics[0].named_parameters()]
    stacked = dict(zip(names, map(torch.stack, zip(*(list(critic.parameters()) for critic in critics), strict=True)), strict=True))

    def one(parameters: dict[str, Tensor], images: Tensor, classes: Tensor) -> Tensor:
        return functional_call(critics[0], parameters, (images, classes))

    def scores(images: Tensor, classes: Tensor) -> Tensor:
        rows = (len(critics), -1)
        return vmap(one)(stacked, images.unflatten(0, rows), classes.unflatten(0, rows)).flatten()

    return scores


def critic_losses(
    critic: Callable[[Tensor, Tensor], Tensor], records: Tensor, fakes: Tensor, classes: Tensor, mixed: Tensor, penalty: float
) -> Tensor:
    """WGAN-GP's loss of each record (B,) beside a generated image of its class, with the code's small weight on a record's score.

    D(fake) - D(record) + penalty (|grad D(between)| - 1)^2 + .001 D(record)^2, `between` a share `mixed` (B, 1, 1, 1) of the record.
    """
    between = (mixed * records + (1.0 - mixed) * fakes).requires_grad_(True)
    (slopes,) = torch.autograd.grad(critic(between, classes).sum(), between, create_graph=True)
    norms = (slopes.flatten(1).square().sum(dim=1) + 1e-12).sqrt()
    scored = critic(records, classes)
    return critic(fakes, classes) - scored + penalty * (norms - 1.0).square() + DRIFT * scored.square()


def image_gradients(critic: nn.Module, images: Tensor, classes: Tensor) -> Tensor:
    """The gradient (B, C, H, W) of each image's score.

    What is not finite is zero: an error where a critic diverged would tell of the records that it learned from.
    """
    shown = images.detach().requires_grad_(True)
    with frozen(critic):
        (slopes,) = torch.autograd.grad(critic(shown, classes).sum(), shown)
    return torch.nan_to_num(slopes, nan=0.0, posinf=0.0, neginf=0.0)


def noisy_gradients(config: GSWGANConfig, gradients: Tensor, state: State, step: int) -> Tensor:
    """Each clipped to C, all released together with noise N(0, (2 C s)^2): (B, C, H, W) on the state's device."""
    norm = config.release.max_grad_norm
    grid = Grid(2.0 * norm * config.release.known_noise_multiplier(), norm, num_records=1)
    total = grid.truncated(gradients.flatten(1).cpu().numpy())
    released = state.randomness.release(GRADIENTS, step, total, grid)
    return torch.from_numpy(released.astype(np.float32)).view(gradients.shape).to(state.device)


def sample(config: GSWGANConfig, state: State, request: SampleRequest) -> Records:
    """Images of the averaged generator for normal inputs, of the classes asked for."""
    labels = request.label_array(state.facts.num_classes)
    classes = torch.from_numpy(np.zeros(request.num_samples, np.int64) if labels is None else labels)
    latents = torch.randn(request.num_samples, config.generator.latent_size, generator=state.randomness.torch_generator(request.purpose))
    average: Any = state.modules[AVERAGE]
    with torch.no_grad():
        pairs = zip(latents.split(IN_ONE_PASS), classes.split(IN_ONE_PASS), strict=True)
        parts = [average.module(z.to(state.device), y.to(state.device)).cpu() for z, y in pairs]
    images = torch.cat(parts).numpy() if request.num_samples else np.zeros((0, *state.facts.shape), np.float32)
    return Records(to_uint8(images), labels)
