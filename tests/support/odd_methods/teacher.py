"""Three networks, two paid stages and a free one that goes beside the second."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import torch
from dp_accounting import dp_event
from pydantic import Field
from torch import Tensor, nn

from support.noise import NoiseConfig
from workbench.datasets.base import DatasetFacts, to_uint8, to_unit_range
from workbench.methods.base import CalibratedField, Method
from workbench.models.sample_request import SampleRequest
from workbench.networks import initialized
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.floored_normals import NOISE_BITS
from workbench.training.poisson import poisson_batch
from workbench.training.state import State, Step


class TeacherConfig(NoiseConfig):
    """A teacher and a student, both by DP-SGD."""

    teacher_steps: int = Field(default=3, ge=1, description="DP-SGD steps of the teacher.")
    student_steps: int = Field(default=4, ge=1, description="DP-SGD steps of the student.")
    sample_rate: float = Field(default=0.1, gt=0, le=1, description="Poisson sampling rate.")


class TeacherStudent(Method):
    """Three networks: a teacher under DP-SGD, a student under DP-SGD, a discriminator on their outputs."""

    name = "odd-teacher"
    title = "Teacher and student"
    source = "tests"
    Config = TeacherConfig
    calibrated_fields = (CalibratedField("noise_multiplier"),)
    released: ClassVar[tuple[str, ...]] = ("student",)
    config: TeacherConfig

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The teacher's event, the student's, and the discriminator's free steps."""
        assert self.config.noise_multiplier
        event = dp_event.PoissonSampledDpEvent(self.config.sample_rate, dp_event.GaussianDpEvent(self.config.noise_multiplier))
        return [
            Stage("teacher", event, "per_step", self.config.teacher_steps, sampling="Poisson batches"),
            Stage("student", event, "per_step", self.config.student_steps, sampling="Poisson batches"),
            Stage("discriminator", None, "free", self.config.student_steps),
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        return PrivacyValue(epsilon=float("inf"), delta=delta, status="not_evaluated", reason="It has no paper.")

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Two linear maps from label to image, and a discriminator."""
        draw = state.randomness.torch_generator("initialisation")
        networks: dict[str, nn.Module] = {
            "teacher": initialized(lambda: nn.Linear(facts.num_classes, facts.dimensions), draw),
            "student": initialized(lambda: nn.Linear(facts.num_classes, facts.dimensions), draw),
            "discriminator": initialized(lambda: nn.Linear(facts.dimensions, 1), draw),
        }
        state.modules = networks
        state.optimizers = {name: torch.optim.SGD(module.parameters(), lr=0.1) for name, module in networks.items()}
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Teacher first; then student and discriminator in turn."""
        assert data.labels is not None
        one_hot = torch.nn.functional.one_hot(torch.from_numpy(data.labels), state.facts.num_classes).float()
        images = torch.from_numpy(to_unit_range(data.records)).flatten(1)
        for name, steps in (("teacher", self.config.teacher_steps), ("student", self.config.student_steps)):
            for step in range(state.steps.get(name, 0) + 1, steps + 1):
                state.spend(name, step)
                self._private_step(name, step, one_hot, images, data.mask, state)
                if name == "student":
                    self._discriminate(step, state)
                state.steps[name] = step
                yield Step(name, step, steps)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """The student's image of each label."""
        labels = request.label_array(state.facts.num_classes)
        assert labels is not None
        with torch.no_grad():
            images = state.modules["student"](torch.nn.functional.one_hot(torch.from_numpy(labels), state.facts.num_classes).float())
        return Records(to_uint8(images.numpy()).reshape(-1, *state.facts.shape), labels)

    def _private_step(self, name: str, step: int, one_hot: Tensor, images: Tensor, present: np.ndarray, state: State) -> None:
        """A clipped, noised step of a linear map towards the records of a Poisson batch; its gradients are outer products."""
        assert self.config.noise_multiplier
        drawn = poisson_batch(state.randomness, name, step, len(images), self.config.sample_rate)
        chosen = torch.from_numpy(drawn[present[drawn]])
        layer = state.modules[name]
        assert isinstance(layer, nn.Linear)
        with torch.no_grad():
            error = (layer(one_hot[chosen]) - images[chosen]) / images.shape[1]
            norms = (error.square().sum(1) * (1 + one_hot[chosen].square().sum(1))).sqrt()
            error = error * (1.0 / norms.clamp(min=1.0))[:, None]
            expected = self.config.sample_rate * len(images)
            for parameter, total in ((layer.weight, error.T @ one_hot[chosen]), (layer.bias, error.sum(0))):
                stream = state.randomness.stream(f"{name} noise {tuple(parameter.shape)}", step)
                noise = torch.from_numpy(stream.floored_normal(tuple(parameter.shape)) * 2.0**-NOISE_BITS).float()
                parameter.grad = (total + self.config.noise_multiplier * noise) / expected
        state.optimizers[name].step()

    def _discriminate(self, step: int, state: State) -> None:
        """One free step on the outputs of both networks; no record enters."""
        labels = torch.eye(state.facts.num_classes)
        with torch.no_grad():
            outputs = torch.cat([state.modules["teacher"](labels), state.modules["student"](labels)])
        truth = torch.cat([torch.ones(len(labels)), torch.zeros(len(labels))])
        loss = nn.functional.binary_cross_entropy_with_logits(state.modules["discriminator"](outputs)[:, 0], truth)
        state.optimizers["discriminator"].zero_grad()
        loss.backward()
        state.optimizers["discriminator"].step()
        state.steps["discriminator"] = step
