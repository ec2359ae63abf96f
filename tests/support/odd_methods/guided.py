"""A classifier of private records, kept in the room, steers the sampler; PAC noise beside it: nothing is proved."""

import math
from collections.abc import Iterator
from typing import ClassVar

import torch
from pydantic import Field
from torch import nn

from workbench.datasets.base import DatasetFacts, to_uint8, to_unit_range
from workbench.methods.base import Method, MethodConfig
from workbench.models.sample_request import SampleRequest
from workbench.networks import MLP, initialized
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.not_dp.pac import PacNoise, deterministic_noise
from workbench.records import Records
from workbench.training.state import State, Step

GUIDED = "A classifier trained on private records without protection steers every sample, so nothing bounds what they reveal."


class ClassifierConfig(MethodConfig):
    """A private classifier in the sampler."""

    steps: int = Field(default=4, ge=1, description="Ordinary steps of the private classifier.")
    guidance_scale: float = Field(default=1.0, ge=0, description="Step along the classifier's gradient.")


class GuidedByPrivateClassifier(Method):
    """Noise pushed towards its label by a classifier of private records, which stays in the room."""

    name = "odd-guided"
    title = "Guided by a private classifier"
    source = "tests"
    Config = ClassifierConfig
    released: ClassVar[tuple[str, ...]] = ()
    kept_private: ClassVar[tuple[str, ...]] = ("classifier",)
    config: ClassifierConfig

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The classifier's training; it is not released, but every sample shows it."""
        return [Stage("classifier", UnprovedDpEvent(GUIDED, "not_proved"), "per_step", self.config.steps, reason=GUIDED)]

    def sampling_stages(self, facts: DatasetFacts, request: SampleRequest) -> list[Stage]:
        """Each request asks the private classifier again."""
        return [Stage("guidance", UnprovedDpEvent(GUIDED, "not_proved"), "once", reason=GUIDED)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No claim either."""
        return PrivacyValue(epsilon=float("inf"), delta=delta, status="not_proved", reason=GUIDED)

    @property
    def private_guides(self) -> tuple[str, ...]:
        """The classifier."""
        return ("classifier",)

    def pac_noise(self, state: State, request: SampleRequest) -> PacNoise:
        """P3DM's determination: from samples of the one model that there is."""
        outputs = self.sample(state, request).records.reshape(request.num_samples, -1) / 255
        return deterministic_noise(outputs, radius=math.sqrt(outputs.shape[1]), redrawn=False)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """A small classifier."""
        channels, height, width = facts.shape
        draw = state.randomness.torch_generator("initialisation")
        classifier = initialized(lambda: MLP((channels, height, width), facts.num_classes), draw)
        state.modules = {"classifier": classifier}
        state.optimizers = {"classifier": torch.optim.Adam(classifier.parameters(), lr=1e-3)}
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Ordinary classification."""
        assert data.labels is not None
        images, labels = torch.from_numpy(to_unit_range(data.records)), torch.from_numpy(data.labels)
        for step in range(state.steps.get("classifier", 0) + 1, self.config.steps + 1):
            state.spend("classifier", step)
            index = torch.from_numpy(state.randomness.stream("classifier batch", step).integers(0, len(images), 32))
            losses = nn.functional.cross_entropy(state.modules["classifier"](images[index]), labels[index], reduction="none")
            loss = (losses * torch.from_numpy(data.mask)[index]).mean()
            state.optimizers["classifier"].zero_grad()
            loss.backward()
            state.optimizers["classifier"].step()
            state.steps["classifier"] = step
            yield Step("classifier", step, self.config.steps, {"loss": float(loss.detach())})

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Noise plus one step along the gradient of the label's log-probability."""
        labels = request.label_array(state.facts.num_classes)
        assert labels is not None
        draw = state.randomness.torch_generator(request.purpose)
        x = torch.randn(request.num_samples, *state.facts.shape, generator=draw).requires_grad_(True)
        scores = state.modules["classifier"](x).log_softmax(1)[torch.arange(len(labels)), torch.from_numpy(labels)]
        (gradient,) = torch.autograd.grad(scores.sum(), x)
        return Records(to_uint8((x + self.config.guidance_scale * gradient).detach().numpy()), labels)
