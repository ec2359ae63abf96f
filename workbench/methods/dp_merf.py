"""DP-MERF (Harder, Adamczewski and Park 2021): one Gaussian release of a mean embedding, then a generator fitted to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from pydantic import Field

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_uint8, to_unit_range
from workbench.lazy import torch
from workbench.methods.base import NOISE_MULTIPLIERS, Method, MethodConfig, SampleRequest, Target, Workload
from workbench.privacy import claims
from workbench.privacy.accounting import calibration
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.one_shot import Grid, sampler_distance
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from torch import Tensor

RELEASE, GENERATOR = "release", "generator"
EMBEDDING_CHUNK = 1000


class DPMERFConfig(MethodConfig):
    """Hyper-parameters of DP-MERF."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise over the replace-one distance 2/num_records; empty calibrates it to the target."
    )
    num_features: int = Field(default=2_000, ge=2, description="Random Fourier features (cosines and sines together).")
    length_scale: float = Field(default=0.0, ge=0, description="Kernel length scale on pixels in [0, 1]; 0 takes sqrt(0.134 dimensions).")
    latent_size: int = Field(default=10, ge=1, description="Inputs of the generator beside the label.")
    hidden_size: int = Field(default=200, ge=1, description="Units of the generator's first layer.")
    channels: int = Field(default=16, ge=1, description="Channels of the generator's convolutions.")
    steps: int = Field(default=800, ge=1, description="Generator steps; they touch the release alone.")
    batch_size: int = Field(default=500, ge=1, description="Generated images in a step.")
    learning_rate: float = Field(default=1e-2, gt=0, description="Adam's first learning rate; a cosine takes it to zero.")


class DPMERF(Method):
    """One release of the label-wise mean of random Fourier features; everything after it is post-processing."""

    name = "dp-merf"
    title = "DP-MERF"
    source = "Harder, Adamczewski and Park 2021"
    Config = DPMERFConfig
    released: ClassVar[tuple[str, ...]] = ("generator",)
    workload: ClassVar[Workload] = Workload(
        {RELEASE: ("num_records",), GENERATOR: ("batch_size",)}, ("num_features", "latent_size", "hidden_size", "channels")
    )
    config: DPMERFConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """10 000 features where images have hundreds of pixels; small images need fewer, which add less noise.

        Mostly black images want the smaller learning rate: at 1e-2 the generator may fall to all black and stay there.
        """
        return {"num_features": 10_000, "steps": 600, "learning_rate": 3e-3} if facts.dimensions > 300 else {}

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The noise multiplier whose bound (replace special), or claim (replace one, the larger), meets `epsilon`; both are exact."""
        assert isinstance(config, DPMERFConfig)

        def stages_of(noise_multiplier: float) -> list[Stage]:
            return cls(config.model_copy(update={"noise_multiplier": noise_multiplier})).stages(facts)

        def claimed(noise_multiplier: float) -> float:
            return claims.dp_merf(noise_multiplier=noise_multiplier, delta=delta).epsilon

        evaluate = claimed if target == "claim" else None
        found = calibration.calibrate_real(stages_of, epsilon, delta, *NOISE_MULTIPLIERS, evaluate=evaluate, field="noise_multiplier")
        return cls(config.model_copy(update={"noise_multiplier": found}))

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The release, and the generator's training that is free."""
        assert self.config.noise_multiplier is not None
        event = ReplaceOneGaussianDpEvent(self.config.noise_multiplier, zero_out_ratio=0.5)
        return [
            Stage(
                name=RELEASE,
                event=event,
                spent="once",
                relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
                sampling="all records, once",
                sampler_distance=sampler_distance(self.config.num_features // 2 * 2 * max(facts.num_classes, 1)),
                reason="Every record adds a vector of norm 1/num_records, so replacing one moves the mean by at most 2/num_records "
                "and making one null by at most 1/num_records.",
            ),
            Stage(
                name=GENERATOR,
                event=event,
                spent="free",
                steps=self.config.steps,
            ),
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's analytic Gaussian mechanism at sensitivity 2/num_records."""
        assert self.config.noise_multiplier is not None
        return claims.dp_merf(noise_multiplier=self.config.noise_multiplier, delta=delta)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The generator, Adam, and room for the one release."""
        generator = networks.initialized(lambda: self._new_generator(facts), state.randomness.torch_generator("initialisation"))
        state.modules = {"generator": generator.to(state.device)}
        state.optimizers = {GENERATOR: torch.optim.Adam(generator.parameters(), lr=self.config.learning_rate)}
        state.tensors = {"embedding": torch.zeros(self.config.num_features // 2 * 2, max(facts.num_classes, 1), device=state.device)}
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Release the noisy mean embedding once, then fit the generator to it."""
        frequencies = self._frequencies(state)
        if state.steps.get(RELEASE, 0) == 0:
            grid = self._grid(state.facts)
            state.spend(RELEASE, 1)
            state.tensors["embedding"] = self._release(data, frequencies, grid, state)
            state.steps[RELEASE] = 1
            yield Step(RELEASE, 1, 1)
        yield from self._fit_generator(frequencies, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images of the generator for standard normal inputs."""
        classes = state.facts.num_classes
        labels = request.label_array(classes)
        rows = torch.from_numpy(np.zeros(request.num_samples, np.int64) if labels is None else labels)
        draw = state.randomness.torch_generator(request.purpose)
        latent = torch.randn(request.num_samples, self.config.latent_size, generator=draw)
        generator = state.modules["generator"].eval()
        with torch.no_grad():
            chunks = [
                generator(z.to(state.device), y.to(state.device)).cpu() for z, y in zip(latent.split(1000), rows.split(1000), strict=True)
            ]
        images = torch.cat(chunks).numpy() if chunks else np.zeros((0, *state.facts.shape), np.float32)
        return Records(to_uint8(images), labels)

    def _new_generator(self, facts: DatasetFacts) -> networks.ConditionalGenerator:
        channels, height, width = facts.shape
        config = self.config
        return networks.ConditionalGenerator(
            (channels, height, width), max(facts.num_classes, 1), config.latent_size, config.hidden_size, config.channels
        )

    def _frequencies(self, state: State) -> Tensor:
        """Gaussian frequencies (dimensions, num_features / 2); public, so any repeatable draw will do."""
        dimensions = state.facts.dimensions
        length_scale = self.config.length_scale or math.sqrt(0.134 * dimensions)
        draw = torch.Generator().manual_seed(0)
        return (torch.randn(dimensions, self.config.num_features // 2, generator=draw) / length_scale).to(state.device)

    def _grid(self, facts: DatasetFacts) -> Grid:
        """Where the sum over records is released: features of norm 1, noise of the configured multiplier over the distance 2."""
        assert self.config.noise_multiplier is not None
        return Grid(deviation=2.0 * self.config.noise_multiplier, max_norm=1.0, num_records=facts.num_records)

    def _release(self, data: Records, frequencies: Tensor, grid: Grid, state: State) -> Tensor:
        """The label-wise mean embedding (num_features, classes) plus Gaussian noise, on `grid`: sums and noise are integers."""
        total = np.zeros(tuple(state.tensors["embedding"].shape), np.int64)
        for start in range(0, len(data), EMBEDDING_CHUNK):
            part = data.take(slice(start, start + EMBEDDING_CHUNK))
            images = torch.from_numpy(to_unit_range(part.records)).to(state.device)
            steps = grid.truncated(fourier_features(images, frequencies).cpu().numpy())
            labels = np.zeros(len(part), np.int64) if part.labels is None else part.labels
            for label in np.unique(labels):
                total[:, label] += steps[labels == label].sum(axis=0)
        released = state.randomness.release(RELEASE, 1, total, grid) / state.facts.num_records
        return torch.from_numpy(released).float().to(state.device)

    def _fit_generator(self, frequencies: Tensor, state: State) -> Iterator[Step]:
        """Minimise the squared distance between the released and the generated embedding (their eq. 8)."""
        generator, optimizer, steps = state.modules["generator"], state.optimizers[GENERATOR], self.config.steps
        classes = state.tensors["embedding"].shape[1]
        for step in range(state.steps.get(GENERATOR, 0) + 1, steps + 1):
            for group in optimizer.param_groups:
                group["lr"] = self.config.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - 1) / steps))
            draw = state.randomness.torch_generator(GENERATOR, step)
            latent = torch.randn(self.config.batch_size, self.config.latent_size, generator=draw).to(state.device)
            rows = (torch.arange(self.config.batch_size) % classes).to(state.device)
            features = fourier_features(generator.train()(latent, rows), frequencies)
            made = features.T @ torch.nn.functional.one_hot(rows, classes).float() / self.config.batch_size
            loss = (made - state.tensors["embedding"]).square().sum()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            state.steps[GENERATOR] = step
            yield Step(GENERATOR, step, steps, float(loss.detach()), private=False)


def fourier_features(images: Tensor, frequencies: Tensor) -> Tensor:
    """Random Fourier features (B, 2 F) of unit norm for images (B, C, H, W) in [-1, 1] and frequencies (C H W, F)."""
    angles = (images.flatten(1) + 1.0) / 2.0 @ frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1) / math.sqrt(frequencies.shape[1])
