"""Hyper-parameters of DP-SAD."""

from collections.abc import Callable
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.methods.base import MethodConfig
from workbench.methods.dp_sad.labels import Labels
from workbench.models.selection.config import SelectedPretraining
from workbench.networks import UNetConfig
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining, PublicTraining, Schedule
from workbench.training.switches import Switches

Mode = Literal["sound", "eq15", "eq17"]
WeightOverTime = Literal["constant", "noisy", "clean"]
WEIGHTS: dict[WeightOverTime, Callable[[float], float]] = {  # t/T in (0, 1] -> factor of lambda, whose mean is 1
    "constant": lambda _share: 1.0,
    "noisy": lambda share: 2.0 * share,
    "clean": lambda share: 2.0 * (1.0 - share),
}


class PrivateTeacher(DPSGD):
    """DP-SGD on the teacher, after its public steps."""

    noise_multiplier: float | None = Field(default=None, ge=1e-3, le=1e6, description="Its noise over its norm; empty takes the student's.")
    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    steps: int = Field(default=60, ge=1, description="DP-SGD steps of the teacher.")


class UnprotectedTeacher(OrdinaryTraining):
    """The paper's teacher: ordinary steps on the private records."""

    steps: int = Field(default=800, ge=1, description="Steps of the paper's teacher on private records, without protection.")
    batch_size: int = Field(default=128, ge=1, description="Private records in a step of the paper's teacher.")


class Student(DPSGD):
    """The student's steps; in the paper's modes its noise is divided by T and its batches are of fixed size."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="sigma: noise over the clipping norm; empty calibrates it. Eq. 15 and 17 divide it by T."
    )
    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of what is clipped.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")


class Discriminating(OrdinaryTraining):
    """The discriminator's steps, one after each of the student's as long as there are any."""

    switches: ClassVar[Switches] = {"steps": (0,)}

    steps: int = Field(default=60, ge=0, description="Steps of the discriminator; 0 leaves it as it was initialised.")
    batch_size: int = Field(default=64, ge=1, description="Noised images in a step of the discriminator.")
    schedule: Schedule = Field(default="constant", description="How the learning rate falls over the steps.")
    generated: int = Field(default=1_000, ge=1, description="Images that a sound teacher draws for it, evenly over the labels.")
    conditioned: bool = Field(default=True, description="Whether it is told the label.")
    objective: Literal["cross-entropy", "printed"] = Field(
        default="cross-entropy", description="What it minimises; as printed (eq. 6) it would learn to be wrong."
    )


class DPSADConfig(MethodConfig):
    """Hyper-parameters of DP-SAD; None stands for what calibration finds."""

    switches: ClassVar[Switches] = {"adversarial_weight": (0.0, 1.0), "teacher_guidance": (0.0, 1.0)}

    mode: Mode = Field(
        default="sound",
        description="sound has a bound; eq15 and eq17 are the paper's steps, by these equations, and rest on its claim.",
    )
    teacher: Literal["public", "dp-sgd"] = Field(
        default="public", description="What the sound teacher learns from: public images alone, or private ones by DP-SGD too."
    )
    labels: Labels = Labels()
    pretraining: PublicTraining = PublicTraining()
    selected: SelectedPretraining = SelectedPretraining()
    private_teacher: PrivateTeacher = PrivateTeacher()
    unprotected_teacher: UnprotectedTeacher = UnprotectedTeacher()
    teacher_guidance: float = Field(default=0.0, ge=0, le=20, description="Guidance w of the teacher's outputs (eq. 5).")
    start: Literal["teacher", "fresh"] = Field(
        default="teacher", description="The student's first weights; those of the paper's are fresh."
    )
    student: Student = Student()
    student_conditioned: bool = Field(default=True, description="Whether the student is told the label; if not, samples have none.")
    compared: Literal["output", "image"] = Field(
        default="output", description="What losses compare: predicted noise (or v), or the images of the next time step made of it."
    )
    timestep_per: Literal["record", "batch"] = Field(default="record", description="A random time step a record, or one a batch (eq. 15).")
    adversarial_weight: float = Field(
        default=1.0, ge=0, le=1e6, description="lambda, the weight of the discriminator's judgement (eq. 12)."
    )
    adversarial_over_time: WeightOverTime = Field(
        default="constant", description="How lambda varies with t: not, or more where images are noisy, or clean; its mean stays."
    )
    discriminator: Discriminating = Discriminating()
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of the teacher's images without their label, for guidance.")
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving averages of teacher and student.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(timesteps=500, prediction="v")
    drawn_from: Literal["student", "teacher"] = Field(default="student", description="Which of the two sound models samples come from.")
    sampler: SamplerConfig = SamplerConfig()

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if not self.is_sound and self.drawn_from == "teacher":
            raise ValueError("Expected samples of the student: the teacher of eq15 and eq17 is not released. Train nonprivate to see one.")
        if self.is_sound and self.teacher == "public" and not self.pretraining.takes_place:
            raise ValueError("Expected public images for a public teacher, got none. Name some, or choose teacher=dp-sgd.")
        known = ("given", "public", "dp-k-means") if self.is_sound else ("given", "self-supervised")
        if self.labels.source not in known:
            raise ValueError(f"Expected labels.source of {' or '.join(known)} where mode is {self.mode}, got {self.labels.source}")
        if self.labels.source == "public" and not self.learns_in_public:
            raise ValueError("Expected public images for public labels, got none. Name some, or choose labels.source=dp-k-means")
        return self._selects_soundly()

    def _selects_soundly(self) -> Self:
        if self.selected.takes_place and not (self.is_sound and self.labels.are_given):
            raise ValueError("Expected mode=sound and labels.source=given where images are selected: records vote by their own labels")
        return self

    @property
    def is_sound(self) -> bool:
        """Whether a bound holds that is worth something."""
        return self.mode == "sound"

    @property
    def has_private_teacher(self) -> bool:
        """Whether a teacher learns from private records by DP-SGD."""
        return self.is_sound and self.teacher == "dp-sgd"

    @property
    def learns_in_public(self) -> bool:
        """Whether the teacher begins with public images; the paper's does not."""
        return self.is_sound and self.pretraining.takes_place

    @property
    def has_public_model(self) -> bool:
        """Whether the teacher is kept as public images alone left it: labels that private records were asked for are in it otherwise."""
        return self.learns_in_public and not self.labels.are_paid_for

    @property
    def has_critic(self) -> bool:
        """Whether the discriminator is trained."""
        return self.adversarial_weight > 0 and self.discriminator.steps > 0
