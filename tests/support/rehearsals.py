"""Three methods that live here only: they rehearse shapes of the contract that the workbench's own methods do not have yet."""

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import torch
from dp_accounting import dp_event
from pydantic import Field
from torch import Tensor, nn

from workbench.datasets.base import Dataset, DatasetFacts, to_uint8, to_unit_range
from workbench.methods.base import CalibratedField, Method, MethodConfig, SampleRequest
from workbench.networks import MLP, initialized
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent, UnprovedDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records, TableKind
from workbench.training.one_shot import Grid, sampler_distance
from workbench.training.poisson import poisson_batch
from workbench.training.state import State, Step


def toy_table(num_records: int = 240) -> Dataset:
    """Two classes of rows in three columns of 3, 2 and 4 categories; the class shifts the first column."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, num_records + 60)
    rows = np.stack(
        [(labels + (draw.random(len(labels)) < 0.2)) % 3, draw.integers(0, 2, len(labels)), draw.integers(0, 4, len(labels))], axis=1
    )
    facts = DatasetFacts(name="toy-table", kind=TableKind.of_sizes((3, 2, 4)), num_records=num_records, classes=("no", "yes"))
    records = Records(rows.astype(np.int64), labels.astype(np.int64))
    return Dataset(facts, records.take(slice(0, num_records)), records.take(slice(num_records, None)))


class NoiseConfig(MethodConfig):
    """A single noise multiplier."""

    noise_multiplier: float | None = Field(default=None, gt=0, description="Noise over the sensitivity; empty calibrates it.")


class MarginalsOfTable(Method):
    """A table of categories: one Gaussian release of all one-way marginals per class; rows drawn from them."""

    name = "rehearsal-marginals"
    title = "Noisy marginals"
    source = "rehearsal"
    kinds = frozenset({"table"})
    Config = NoiseConfig
    calibrated_fields = (CalibratedField("noise_multiplier"),)
    released: ClassVar[tuple[str, ...]] = ("marginals",)
    config: NoiseConfig

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """One release, replace-one distance sqrt(2 columns); a record that is made null leaves one cell a column, sqrt(columns)."""
        assert self.config.noise_multiplier
        event = ReplaceOneGaussianDpEvent(self.config.noise_multiplier, zero_out_ratio=math.sqrt(0.5))
        return [
            Stage(
                "release",
                event,
                "once",
                relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
                sampling="all records, once",
                sampler_distance=sampler_distance(facts.num_classes * sum(TableKind.of(facts.kind).categories)),
            )
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        return PrivacyValue(epsilon=float("inf"), delta=delta, status="not_evaluated", reason="A rehearsal has no paper.")

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the release."""
        state.tensors = {"marginals": torch.zeros(facts.num_classes, sum(TableKind.of(facts.kind).categories))}
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Count, add noise, once, on a public grid."""
        if state.steps.get("release"):
            return
        state.spend("release", 1)
        assert data.labels is not None
        assert self.config.noise_multiplier
        offsets = np.cumsum([0, *TableKind.of(state.facts.kind).categories[:-1]])
        cells = np.zeros((len(data), sum(TableKind.of(state.facts.kind).categories)))
        cells[np.arange(len(data))[:, None], data.records + offsets] = data.mask[:, None]
        columns = len(offsets)
        grid = Grid(self.config.noise_multiplier * math.sqrt(2 * columns), max_norm=math.sqrt(columns), num_records=len(data))
        counts = np.zeros(tuple(state.tensors["marginals"].shape), np.int64)
        np.add.at(counts, data.labels, grid.truncated(cells))
        state.tensors["marginals"] = torch.from_numpy(state.randomness.release("release", 1, counts, grid)).float()
        state.steps["release"] = 1
        yield Step("release", 1, 1)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Independent columns given the class."""
        labels = request.label_array(state.facts.num_classes)
        assert labels is not None
        draw = state.randomness.stream(request.purpose)
        columns, start = [], 0
        for size in TableKind.of(state.facts.kind).categories:
            weights = state.tensors["marginals"][:, start : start + size].clamp(min=1e-3).numpy().astype(np.float64)
            shares = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[labels]
            columns.append(np.minimum((draw.random(len(labels))[:, None] > shares).sum(axis=1), size - 1))
            start += size
        return Records(np.stack(columns, axis=1).astype(np.int64), labels)


class TeacherConfig(NoiseConfig):
    """A teacher and a student, both by DP-SGD."""

    teacher_steps: int = Field(default=3, ge=1, description="DP-SGD steps of the teacher.")
    student_steps: int = Field(default=4, ge=1, description="DP-SGD steps of the student.")
    sample_rate: float = Field(default=0.1, gt=0, le=1, description="Poisson sampling rate.")


class TeacherStudent(Method):
    """Three networks: a teacher under DP-SGD, a student under DP-SGD, a discriminator on their outputs."""

    name = "rehearsal-teacher"
    title = "Teacher and student"
    source = "rehearsal"
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
        return PrivacyValue(epsilon=float("inf"), delta=delta, status="not_evaluated", reason="A rehearsal has no paper.")

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
                noise = state.randomness.normal(f"{name} noise {tuple(parameter.shape)}", step, tuple(parameter.shape))
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


GUIDED = "A classifier trained on private records without protection steers every sample, so nothing bounds what they reveal."


class ClassifierConfig(MethodConfig):
    """A private classifier in the sampler."""

    steps: int = Field(default=4, ge=1, description="Ordinary steps of the private classifier.")
    guidance_scale: float = Field(default=1.0, ge=0, description="Step along the classifier's gradient.")


class GuidedByPrivateClassifier(Method):
    """Noise pushed towards its label by a classifier of private records, which stays in the room."""

    name = "rehearsal-guided"
    title = "Guided by a private classifier"
    source = "rehearsal"
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


REHEARSALS: dict[str, type[Method]] = {kind.name: kind for kind in (MarginalsOfTable, TeacherStudent, GuidedByPrivateClassifier)}
