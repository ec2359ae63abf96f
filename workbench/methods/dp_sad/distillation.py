"""The student's loss: near the teacher, near the noised record, and, if there is a discriminator, taken for the teacher."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from workbench.diffusion import GaussianDiffusion, build_diffusion, classifier_free
from workbench.methods.dp_sad.method import STUDENT, WEIGHTS, DPSADConfig
from workbench.training.microbatch import Microbatch
from workbench.training.row_losses import RowLosses

if TYPE_CHECKING:
    from workbench.training.randomness import Randomness


TEACHERS, STUDENTS = 0, 1  # columns of the discriminator's logits: the labels [1, 0] and [0, 1]


class Distillation:
    """Eq. 10 and 12 at one random time step: what is compared, with whom, and how much each counts.

    All of it is row by row. `teacher(x_t, t, labels)` and `discriminator(image, t, labels)` are frozen here.
    """

    def __init__(self, config: DPSADConfig, teacher: nn.Module, discriminator: nn.Module) -> None:
        self.config, self.diffusion = config, build_diffusion(config.diffusion)
        self.teacher, self.discriminator = teacher, discriminator

    def teach(self, x_t: Tensor, times: Tensor, labels: Tensor) -> Tensor:
        """The teacher's output, guided (eq. 5); no gradient passes."""
        with torch.no_grad():
            return classifier_free(self.teacher, labels, self.config.teacher_guidance)(x_t, times)

    def judge(self, images: Tensor, times: Tensor, labels: Tensor) -> Tensor:
        """The discriminator's logits (B, 2); a gradient passes to the images alone."""
        weights = {name: weight.detach() for name, weight in self.discriminator.named_parameters()}
        return torch.func.functional_call(self.discriminator, weights, (images, times, labels))

    def student_rows(self, labels: Tensor) -> Tensor:
        """What the student is told of the labels."""
        return labels * int(self.config.student_conditioned)

    def discriminator_rows(self, labels: Tensor) -> Tensor:
        """What the discriminator is told of the labels."""
        return labels * int(self.config.discriminator.conditioned)

    def compared_output(self, output: Tensor, x_t: Tensor, times: Tensor) -> Tensor:
        """What stands for a network's output in the losses: itself, or the image of the next time step."""
        return output if self.config.compared == "output" else next_image(self.diffusion, output, x_t, times)

    def losses(self, output: Tensor, images: Tensor, labels: Tensor, times: Tensor, noise: Tensor) -> Tensor:
        """L_dis + lambda L_adv (B,) of the student's `output` at `times` (B,), means over pixels."""
        x_t = self.diffusion.add_noise(images, noise, times)
        return self.losses_of(self.compared_output(output, x_t, times), x_t, images, labels, times, noise)

    def losses_of(self, mine: Tensor, x_t: Tensor, images: Tensor, labels: Tensor, times: Tensor, noise: Tensor) -> Tensor:
        """The same of what is compared, `mine`: by which eq. 17 takes its derivative."""
        teachers = self.compared_output(self.teach(x_t, times, labels), x_t, times)
        truth = self.compared_output(self.diffusion.target(images, noise, times), x_t, times)
        distance = (mine - teachers).square().flatten(1).mean(dim=1) + (mine - truth).square().flatten(1).mean(dim=1)
        if not self.config.adversarial_weight:
            return distance
        shown = mine if self.config.compared == "image" else next_image(self.diffusion, mine, x_t, times)
        judged = log_softmax(self.judge(shown, times, self.discriminator_rows(labels)), dim=1)
        return distance + self.weights(times) * judged[:, STUDENTS]  # eq. 7: log(1 - the chance of being the teacher's)

    def weights(self, times: Tensor) -> Tensor:
        """lambda at `times` (B,)."""
        over_time, last = WEIGHTS[self.config.adversarial_over_time], self.diffusion.timesteps
        factors = torch.tensor([over_time(time / last) for time in range(last + 1)], device=times.device)
        return self.config.adversarial_weight * factors[times]

    def of_rows(self, student: nn.Module, batch: tuple[Tensor, ...], randomness: Randomness) -> RowLosses:
        """The losses of a batch's images and label rows for a private step, its time steps drawn by record, or one for all."""
        shape, last = tuple(batch[0].shape[1:]), self.diffusion.timesteps

        def draw(part: Microbatch) -> tuple[Tensor, Tensor]:
            times = part.integers(1, last + 1)
            if self.config.timestep_per == "batch":
                times = torch.full_like(times, one_timestep(randomness, part.step, last))
            return times, part.normal(shape)

        def inputs(image: Tensor, label: Tensor, time: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            return self.diffusion.add_noise(image, noise, time), time, self.student_rows(label)

        return RowLosses(student, batch, draw, inputs, self.losses)


def one_timestep(randomness: Randomness, step: int, last: int) -> int:
    """r of eq. 15, one for all records of step `step`: 1 to `last`."""
    return int(randomness.stream(f"{STUDENT}: time step", step).integers(1, last + 1)[0])


def next_image(diffusion: GaussianDiffusion, output: Tensor, x_t: Tensor, times: Tensor) -> Tensor:
    """The image at t - 1 that a network's output at t implies, without fresh noise (Song et al. 2021, eq. 12 at eta 0).

    Of the true output it is the record noised to t - 1 by the same noise.
    """
    signal_scale, noise_scale = diffusion.scales(times - 1, x_t)
    return signal_scale * diffusion.predict_x_start(output, x_t, times) + noise_scale * diffusion.predict_noise(output, x_t, times)
