"""A paid and a free stage in turn, on two networks: a student by DP-SGD, and a critic of what the student makes."""

from collections.abc import Iterator
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts, to_uint8, to_unit_range
from workbench.methods.base import CalibratedField, Method, MethodConfig
from workbench.models.sample_request import SampleRequest
from workbench.networks import initialized
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

STUDENT, CRITIC = "student", "critic"


class InterleavedConfig(MethodConfig):
    """A student and its critic."""

    student: DPSGD = Field(default=DPSGD(batch_size=20, steps=3))
    critic: OrdinaryTraining = Field(default=OrdinaryTraining(batch_size=10, steps=3))


class Interleaved(Method):
    """Step n of the student, then step n of the critic, which no record enters."""

    name = "odd-interleaved"
    title = "Student and critic in turn"
    source = "tests"
    Config = InterleavedConfig
    calibrated_fields = (CalibratedField("student.noise_multiplier"),)
    released: ClassVar[tuple[str, ...]] = (STUDENT,)
    config: InterleavedConfig

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The student's steps, paid, and the critic's, free."""
        return [self.config.student.stage(STUDENT, facts.num_records), self.config.critic.free_stage(CRITIC)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        return PrivacyValue(epsilon=float("inf"), delta=delta, status="not_evaluated", reason="It has no paper.")

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """A linear map from label to image, and one from image to score."""
        draw = state.randomness.torch_generator("initialisation")
        state.modules[STUDENT] = initialized(lambda: nn.Linear(facts.num_classes, facts.dimensions), draw)
        state.modules[CRITIC] = initialized(lambda: nn.Linear(facts.dimensions, 1), draw)
        state.optimizers = {name: torch.optim.SGD(module.parameters(), lr=0.1) for name, module in state.modules.items()}
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """In turn, from wherever either stands."""
        assert data.labels is not None
        student, critic, labels = state.modules[STUDENT], state.modules[CRITIC], torch.eye(state.facts.num_classes)
        images, rows = torch.from_numpy(to_unit_range(data.records)).flatten(1), labels[torch.from_numpy(data.labels)]

        def losses(batch: tuple[Tensor, ...]) -> RowLosses:
            return RowLosses(student, batch, lambda _: (), lambda row, _: (row,), lambda made, _, image: (made - image).square().mean(1))

        def score(_step: int) -> Tensor:
            return critic(student(labels).detach()).square().mean()

        paid = PrivateTraining(self.config.student, STUDENT, student, state, (rows, images), losses, present=data.mask)
        free = OrdinaryTrainer(self.config.critic, CRITIC, state, score, private=False)
        for step in range(1, max(self.config.student.steps, self.config.critic.steps) + 1):
            for trainer in (paid, free):
                if state.steps.get(trainer.stage, 0) < step <= trainer.settings.steps:
                    yield trainer.step(step)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """The student's image of each label."""
        labels = request.label_array(state.facts.num_classes)
        assert labels is not None
        with torch.no_grad():
            images = state.modules[STUDENT](torch.eye(state.facts.num_classes)[torch.from_numpy(labels)])
        return Records(to_uint8(images.numpy()).reshape(-1, *state.facts.shape), labels)
