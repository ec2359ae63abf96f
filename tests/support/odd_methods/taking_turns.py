"""Two paid stages that take turns on the same records: a student and a critic, both by DP-SGD, as distillation has them."""

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
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

STUDENT, CRITIC = "student", "critic"


class TakingTurnsConfig(MethodConfig):
    """A student and its critic."""

    student: DPSGD = Field(default=DPSGD(batch_size=20, steps=3))
    critic: DPSGD = Field(default=DPSGD(noise_multiplier=6.0, batch_size=15, steps=4))


class TakingTurns(Method):
    """Step n of the critic, which sees records and what the student makes of their labels, then step n of the student."""

    name = "odd-taking-turns"
    title = "Student and critic, both paid"
    source = "tests"
    Config = TakingTurnsConfig
    calibrated_fields = (CalibratedField("student.noise_multiplier"),)
    released: ClassVar[tuple[str, ...]] = (STUDENT,)
    config: TakingTurnsConfig

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Both, paid for each step whenever it is taken."""
        return [getattr(self.config, name).stage(name, facts.num_records) for name in (STUDENT, CRITIC)]

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
        trainers = self._trainers(data, state)
        for step in range(1, max(trainer.settings.steps for trainer in trainers) + 1):
            for trainer in trainers:
                if state.steps.get(trainer.stage, 0) < step <= trainer.settings.steps:
                    yield trainer.step(step)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """The student's image of each label."""
        labels = request.label_array(state.facts.num_classes)
        assert labels is not None
        with torch.no_grad():
            images = state.modules[STUDENT](torch.eye(state.facts.num_classes)[torch.from_numpy(labels)])
        return Records(to_uint8(images.numpy()).reshape(-1, *state.facts.shape), labels)

    def _trainers(self, data: Records, state: State) -> list[PrivateTraining]:
        """The critic's, which scores a record's image above what the student makes of its label, and the student's."""
        assert data.labels is not None
        student, critic = state.modules[STUDENT], state.modules[CRITIC]
        rows = torch.eye(state.facts.num_classes)[torch.from_numpy(data.labels)]
        tensors = (rows, torch.from_numpy(to_unit_range(data.records)).flatten(1))

        def difference(row: Tensor, image: Tensor) -> tuple[Tensor]:
            return (image - student(row).detach(),)

        def judged(batch: tuple[Tensor, ...]) -> RowLosses:
            return RowLosses(critic, batch, lambda _: (), difference, lambda score, _, image: -score[:, 0])

        def copied(batch: tuple[Tensor, ...]) -> RowLosses:
            def loss(made: Tensor, _: Tensor, image: Tensor) -> Tensor:
                return (made - image).square().mean(1) + 0.1 * nn.functional.softplus(-critic(made)[:, 0])

            return RowLosses(student, batch, lambda _: (), lambda row, _: (row,), loss)

        made = [(CRITIC, self.config.critic, critic, judged), (STUDENT, self.config.student, student, copied)]
        return [PrivateTraining(part, name, network, state, tensors, losses, present=data.mask) for name, part, network, losses in made]
