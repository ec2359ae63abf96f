"""The autoencoder of public images: trained by squared error, its latents in [-1, 1] as pixels are, so that samplers clip both alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.models.latents.config import AUTOENCODER, FACTOR, MODULE, Latents, ScaledLatents
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step

AT_ONCE = 500  # records encoded together
SCALED_BY = 5_000  # public images whose latents decide the scale
WITHIN = 0.999  # of their values
JITTER = 0.05  # deviation of what is added to latents in training, so that the decoder bears what a sampler leaves


class Autoencoder(nn.Module):
    """Images (B, C, H, W) in [-1, 1] to latents (B, channels, H / 4, W / 4) in [-1, 1], and back."""

    def __init__(self, channels: int, image_channels: int, width: int) -> None:
        super().__init__()
        self.channels = channels
        self.encoder = nn.Sequential(
            nn.Conv2d(image_channels, width, 3, padding=1),
            nn.SiLU(),
            nn.Conv2d(width, 2 * width, 4, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(2 * width, 2 * width, 4, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(2 * width, channels, 3, padding=1),
            nn.Tanh(),
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(channels, 2 * width, 3, padding=1),
            nn.SiLU(),
            nn.ConvTranspose2d(2 * width, 2 * width, 4, stride=2, padding=1),
            nn.SiLU(),
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(width, image_channels, 3, padding=1),
        )

    def latent_shape(self, facts: DatasetFacts) -> tuple[int, ...]:
        """(channels, H / 4, W / 4) of the dataset's images."""
        return self.channels, facts.shape[1] // FACTOR, facts.shape[2] // FACTOR

    def forward(self, images: Tensor, jitter: Tensor) -> Tensor:
        """What comes back of the images with `jitter` (B, channels, H / 4, W / 4) added to their latents."""
        return self.decoder(self.encoder(images) + jitter)

    def encode(self, images: Tensor) -> Tensor:
        """What a diffusion model learns of images (B, C, H, W): each by itself, in [-1, 1]."""
        return self.encoder(images)

    def decode(self, latents: Tensor) -> Tensor:
        """Images (B, C, H, W), about in [-1, 1], of what a diffusion model made."""
        return self.decoder(latents)


class ScaledAutoencoder(Autoencoder):
    """The same, its latents divided by one number, `scale`, that comes from public images alone."""

    scale: Tensor

    def __init__(self, channels: int, image_channels: int, width: int) -> None:
        super().__init__(channels, image_channels, width)
        self.register_buffer("scale", torch.ones(()))

    def encode(self, images: Tensor) -> Tensor:
        """Latents over the scale; what would be beyond public latents is kept in [-1, 1]."""
        return (self.encoder(images) / self.scale).clamp(-1, 1)

    def decode(self, latents: Tensor) -> Tensor:
        """Images of latents over the scale."""
        return self.decoder(latents * self.scale)

    @torch.no_grad()
    def scale_by(self, public: Images) -> None:
        """Make the scale the size that all but one in a thousand of the public images' latent values keep within.

        `SCALED_BY` of these images decide, the first ones.
        """
        sizes = self.encoder(public[torch.arange(min(SCALED_BY, len(public)))]).abs().flatten()
        self.scale.fill_(float(sizes.kthvalue(math.ceil(WITHIN * len(sizes))).values.clamp(min=1e-3)))


def add_to(settings: Latents, facts: DatasetFacts, state: State) -> None:
    """The autoencoder and its Adam, if the diffusion model works on latents."""
    if not settings.takes_place:
        return
    draw = state.randomness.torch_generator(f"initialisation of the {AUTOENCODER}")
    kind = ScaledAutoencoder if isinstance(settings, ScaledLatents) else Autoencoder
    made = networks.initialized(lambda: kind(settings.channels, facts.shape[0], settings.width), draw).to(state.device)
    state.modules[MODULE] = made
    state.optimizers[AUTOENCODER] = torch.optim.Adam(made.parameters(), lr=settings.learning_rate)


def train(settings: Latents, public: Records, state: State) -> Iterator[Step]:
    """Ordinary steps on public images alone, from where the state stands."""
    network = autoencoder(state)
    if network is None:
        return
    images = Images(public, state.device)
    shape = network.latent_shape(state.facts)

    def loss(step: int) -> Tensor:
        draw = state.randomness.torch_generator(f"{AUTOENCODER} batch", step)
        index = torch.randint(len(images), (settings.batch_size,), generator=draw)
        jitter = JITTER * torch.randn((settings.batch_size, *shape), generator=draw)
        chosen = images[index]
        return (network(chosen, jitter.to(state.device)) - chosen).square().mean()

    for step in OrdinaryTrainer(settings, AUTOENCODER, state, loss, private=False).run():
        if step.step == step.steps and isinstance(network, ScaledAutoencoder):
            network.scale_by(images)
        yield step


def autoencoder(state: State) -> Autoencoder | None:
    """The state's autoencoder; None where the diffusion model works on pixels."""
    network = state.modules.get(MODULE)
    assert network is None or isinstance(network, Autoencoder)
    return network


class LatentEntries:
    """Latents float32 (N, channels, H / 4, W / 4) of all images, each by itself; zero where `mask` bool (N,) is False.

    No image is read before the first latents are asked for, which a private step does once its spending is recorded.
    """

    def __init__(self, images: Images, mask: Tensor, network: Autoencoder) -> None:
        self._images, self._mask, self._network, self.device = images, mask.to(images.device), network, images.device

    @property
    def shape(self) -> tuple[int, ...]:
        """(N, channels, H / 4, W / 4)."""
        count, _, height, width = self._images.shape
        return count, self._network.channels, height // FACTOR, width // FACTOR

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        """The latents at positions int64 (B,)."""
        return self._all[index.to(self.device)]

    @cached_property
    def _all(self) -> Tensor:
        with torch.no_grad():
            parts = [self._network.encode(self._images[index]) for index in torch.arange(len(self)).split(AT_ONCE)]
            return torch.cat(parts) * self._mask[:, None, None, None]


def encoded(images: Images, mask: Tensor, network: Autoencoder) -> LatentEntries:
    """The latents of all images, encoded once, when they are first asked for."""
    return LatentEntries(images, mask, network)


@torch.no_grad()
def decoded(latents: Tensor, network: Autoencoder) -> Tensor:
    """Images float32 (B, C, H, W), about in [-1, 1], of latents."""
    return network.decode(latents)
