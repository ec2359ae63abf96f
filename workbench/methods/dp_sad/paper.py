"""The paper's steps of the student where its output is clipped (eq. 17), with noise over T. For study only."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from workbench.methods.dp_sad.distillation import Distillation, one_timestep
from workbench.methods.dp_sad.method import STUDENT, DPSADConfig, paper_student
from workbench.networks import ExponentialMovingAverage
from workbench.training.entries import Entries
from workbench.training.ordinary_training import set_learning_rate
from workbench.training.private_training import check_planned
from workbench.training.state import State, Step


class OutputClipped:
    """Eq. 17: each row's loss gradient is clipped where it enters what losses compare, and not after.

    With compared=image this is the printed equation: it clips the derivative by the image of the next time step. Noise of deviation
    sigma C/(B T) is added where the equation prints it, to the gradient of the weights.
    """

    def __init__(
        self,
        config: DPSADConfig,
        distillation: Distillation,
        student: nn.Module,
        state: State,
        data: tuple[Entries, ...],
        present: np.ndarray,
        average: ExponentialMovingAverage,
    ) -> None:
        self.config, self.settings, self.distillation = config, paper_student(config), distillation
        self.steps = self.settings.private_steps(STUDENT, state.facts.num_records)
        check_planned(self.steps, state)
        self.student, self.state, self.data, self.present, self.average = student, state, data, present, average
        self.stage, self.optimizer = STUDENT, state.optimizers[STUDENT]

    def step(self, step: int) -> Step:
        """Step `step`, recorded as spent before a record is touched."""
        self.state.spend(self.stage, step)
        set_learning_rate(self.optimizer, self.settings.learning_rate_at(step))
        self.optimizer.zero_grad(set_to_none=False)
        drawn = self.steps.batches.drawn(self.state.randomness, f"{STUDENT} batch", step, len(self.data[0]))
        chosen = torch.from_numpy(drawn[self.present[drawn]])
        values = {"loss": self._backward(step, chosen)} if len(chosen) else {}
        self._add_noise(step)
        self.optimizer.step()
        self.average.update(self.student)
        self.state.steps[self.stage] = step
        return Step(self.stage, step, self.settings.steps, values)

    def _backward(self, step: int, chosen: Tensor) -> float:
        """Gradients of the weights through clipped derivatives of what is compared; the mean loss."""
        draws, diffusion = self.settings.noise_multiplicity, self.distillation.diffusion
        images, labels = (values[chosen.to(values.device)].repeat_interleave(draws, dim=0) for values in self.data)
        times, noise = self._draw(step, images)
        x_t = diffusion.add_noise(images, noise, times)
        output: Tensor = self.student(x_t, times, self.distillation.student_rows(labels))
        mine = self.distillation.compared_output(output, x_t, times)
        leaf = mine.detach().requires_grad_()
        losses = self.distillation.losses_of(leaf, x_t, images, labels, times, noise)
        (derivative,) = torch.autograd.grad(losses.sum(), leaf)
        mine.backward(clipped_rows(derivative, self.settings.max_grad_norm) / (self.steps.divisor * draws))
        return float(losses.detach().mean())

    def _draw(self, step: int, images: Tensor) -> tuple[Tensor, Tensor]:
        """Times int64 (R,) and noise (R, C, H, W) of the rows."""
        draw, last = self.state.randomness.torch_generator(f"{STUDENT} draws", step), self.distillation.diffusion.timesteps
        times = torch.randint(1, last + 1, (len(images),), generator=draw)
        if self.config.timestep_per == "batch":
            times = torch.full_like(times, one_timestep(self.state.randomness, step, last))
        return times.to(images.device), torch.randn(images.shape, generator=draw).to(images.device)

    def _add_noise(self, step: int) -> None:
        """Noise of deviation sigma C/(B T) on every weight's gradient."""
        deviation = self.steps.deviation * self.settings.max_grad_norm / self.steps.divisor
        stream = self.state.randomness.stream(f"{STUDENT}: noise", step)
        for parameter in self.student.parameters():
            noise = torch.from_numpy(stream.standard_normal(tuple(parameter.shape)).astype(np.float32)).to(parameter)
            parameter.grad = deviation * noise + (0.0 if parameter.grad is None else parameter.grad)


def clipped_rows(rows: Tensor, norm: float) -> Tensor:
    """Rows (R, ...) scaled down to at most `norm`: CLIP of Fig. 1, with the norm and not its square."""
    norms = rows.flatten(1).norm(dim=1).reshape(-1, *[1] * (rows.ndim - 1))
    return rows / (norms / norm).clamp(min=1.0)
