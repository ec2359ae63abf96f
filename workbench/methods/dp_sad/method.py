"""DP-SAD (Liu et al. 2024): a student diffusion model, distilled from a teacher beside a discriminator, by private steps.

The paper's proof does not hold (see `stages`): its two modes train on its claim alone. The mode `sound` is what is left of it with a
bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

from dp_accounting import dp_event
from pydantic import Field, model_validator
from scipy.optimize import minimize_scalar

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.errors import WorkbenchError, check_delta
from workbench.methods import votes
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, Target
from workbench.methods.dp_sad.labels import Labels
from workbench.methods.fields import with_values
from workbench.methods.pretrained import SELECTED, SHAPES, UNCLAIMED
from workbench.models.selection.config import SelectedPretraining
from workbench.models.settings import PRETRAINING, check_model, check_public_images, default_network
from workbench.networks import UNetConfig
from workbench.networks.size import num_parameters
from workbench.privacy.accounting.formulas import inverse_square
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining, PublicTraining, Schedule, check_batch_size
from workbench.training.private_steps import PermutedBatches, PrivateSteps
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
    """The paper's teacher: non-private steps on the private records."""

    steps: int = Field(default=800, ge=1, description="Steps of the paper's teacher on private records, without protection.")
    batch_size: int = Field(default=128, ge=1, description="Private records in a step of the paper's teacher.")


class Student(DPSGD):
    """The student's steps; in the paper's modes its noise is divided by T and its batches are of fixed size."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="sigma: noise over the clipping norm; empty calibrates it. Eq. 15 and 17 divide it by T."
    )
    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of what is clipped.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")


class DiscriminatorTraining(OrdinaryTraining):
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
    discriminator: DiscriminatorTraining = DiscriminatorTraining()
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


TEACHER, STUDENT, DISCRIMINATOR = "teacher", "student", "discriminator"
SOUND = (
    "The discriminator sees generated images alone, so records enter through the student's gradients, clipped whole and per record, "
    "and through the teacher's, if it has any."
)
EQ15 = (
    "One record may change all B clipped terms through the teacher, so the mean moves by 2 C against noise sigma C/(B T). "
    "True and useless: with noise that hides that nothing is learnt."
)
EQ17 = (
    "The teacher and the discriminator are trained on all private records and enter every gradient, so clipping one term bounds little. "
    "The chain rule multiplies the clipped part by a factor that depends on the private record and has no bound."
)

LABELLED = {
    True: " A record's label is its nearest centroid's, which is public or released.",
    False: " Labels, by k-means on what was learned from private records, may change with one record as the teacher does.",
}


def reason_of(config: DPSADConfig, reason: str) -> str:
    """Why the student's stage is charged as it is, with what its labels add where they are not given."""
    return reason if config.labels.are_given else reason + LABELLED[config.is_sound]


def teacher_training(config: DPSADConfig) -> DPSGD:
    """The DP-SGD of a sound private teacher, with the student's noise multiplier where it has none of its own."""
    settings = config.private_teacher
    if settings.noise_multiplier is None:
        return with_values(settings, {"noise_multiplier": config.student.known_noise_multiplier(STUDENT)})
    return settings


def sound_stages(config: DPSADConfig, facts: DatasetFacts) -> list[Stage]:
    """Labels, the teacher's public steps, a selection and its DP-SGD, if there are any, the student's and the discriminator's."""
    stages = config.labels.stages(facts)
    if config.learns_in_public:
        stages.append(config.pretraining.free_stage(PRETRAINING))
    if config.selected.takes_place:
        check_public_images(config.pretraining, config.selected.selection)
        stages += config.selected.stages(facts)
    if config.has_private_teacher:
        stages.append(teacher_training(config).stage(TEACHER, facts.num_records))
    stages.append(config.student.stage(STUDENT, facts.num_records, reason_of(config, SOUND)))
    return [*stages, config.discriminator.free_stage(DISCRIMINATOR)] if config.has_critic else stages


def paper_stages(config: DPSADConfig, facts: DatasetFacts) -> list[Stage]:
    """Labels, the teacher's and the discriminator's steps on private records, which stay in the room, and the student's.

    Whatever the others do with a record, the student's step of eq. 15 shows at most 2 C B of it against noise of sigma C/T: that is
    charged, and nothing more leaves. Of eq. 17 nothing is known.
    """
    check_batch_size(STUDENT, config.student.batch_size, facts.num_records)
    check_batch_size(TEACHER, config.unprotected_teacher.batch_size, facts.num_records)
    stages = [*config.labels.stages(facts), kept_stage(TEACHER, config.unprotected_teacher)]
    student = paper_student(config)
    stages.append(student.stage(STUDENT, facts.num_records, student.reason))
    return [*stages, kept_stage(DISCRIMINATOR, config.discriminator)] if config.has_critic else stages


def kept_stage(name: str, training: OrdinaryTraining) -> Stage:
    """Steps on private records whose result enters the student's steps alone, where all of it is charged."""
    return Stage(name, dp_event.NoOpDpEvent(), "per_step", training.steps, reason="", rows=training.rows)


class PaperStudent(Student):
    """The student's steps as eq. 15 and 17 have them: noise sigma/T over the clipping norm on the sum over B records, B a constant."""

    timesteps: int = Field(description="T, which the noise is divided by.")
    reason: str = Field(description="Why they cost what they do.")
    proved: bool = Field(description="Whether anything bounds them: eq. 15.")

    def private_steps(self, name: str, num_records: int) -> PrivateSteps:
        """One record may change all B clipped terms through the teacher, each by 2 C, or, by eq. 17, by nobody knows how much."""
        sigma, size = self.known_noise_multiplier(name), int(self.batch_size)
        steps = PrivateSteps(name, self.steps, PermutedBatches(size), sigma, self.batch_size, distance=2.0 * size, dilution=self.timesteps)
        return replace(steps, unproved="" if self.proved else self.reason)


def paper_student(config: DPSADConfig) -> PaperStudent:
    """The student's settings where the mode is the paper's."""
    proved = config.mode == "eq15"
    whole = {"batch_size": float(max(1, round(config.student.batch_size))), "timesteps": config.diffusion.timesteps}
    reason = reason_of(config, EQ15 if proved else EQ17)
    return PaperStudent.model_validate(dict(config.student) | whole | {"reason": reason, "proved": proved})


FORMULA = "min over a > 1 of 2 C^2 s B N a/sigma^2 + log((a-1)/a) - (log delta + log a)/(a-1), sigma the noise's deviation"
NOTATION = {"student.batch_size": "B", "student.steps": "N", "student.noise_multiplier": "sigma/C"}
READINGS = {
    "dp-sad": Reading("DP-SAD, output clipped (eq. 17)", "published", f"{FORMULA}; s the pixels", NOTATION | {"dimensions": "s"}),
    "dp-sad-eq15": Reading("DP-SAD, gradient clipped (eq. 15)", "published-eq15", f"{FORMULA}; s the student's weights", NOTATION),
    "dp-sad-sound": Reading(
        "DP-SAD with a public teacher and the student's whole gradient clipped per record",
        "published-sound",
        f"{FORMULA}; s the student's weights",
        NOTATION,
    ),
}
LEAVES_OUT = "The teacher trained on all private records enters every gradient. The clipped part is not the whole gradient."
OUTSIDE = "It counts the student's steps alone. The teacher's, or the labels, are released from the same records and stand outside it."
CHARGES = "The formula charges 4 s B times what a step costs, for every coordinate and every record of the batch. True and useless."


def clipped_length(config: DPSADConfig, facts: DatasetFacts) -> int:
    """s, the length of what is clipped: the pixels of an image by eq. 17, else the weights of the student."""
    if config.mode == "eq17":
        return facts.dimensions
    return num_parameters(config.network, facts.shape, max(config.labels.clustered_facts(facts).num_classes, 1))


def claim(config: DPSADConfig, facts: DatasetFacts, delta: float) -> PrivacyValue:
    """Theorem 4 for a configured student; what else is released of the same records stands outside it, and is said to."""
    value = claimed(
        vector_length=clipped_length(config, facts),
        batch_size=config.student.batch_size,
        steps=config.student.steps,
        noise_multiplier=config.student.known_noise_multiplier(STUDENT),
        delta=delta,
        per_record=config.is_sound,
    )
    if config.has_private_teacher or config.labels.are_paid_for:
        return value.model_copy(update={"status": "not_proved", "reason": OUTSIDE})
    return value


def claimed(
    *,
    vector_length: int,
    batch_size: float,
    steps: int,
    noise_multiplier: float,
    delta: float,
    max_grad_norm: float = 1.0,
    per_record: bool = False,
) -> PrivacyValue:
    """Theorem 4: min over a > 1 of 2 C^2 s B N a/sigma^2 + log((a-1)/a) - (log delta + log a)/(a-1).

    `noise_multiplier` is that of eq. 15; the theorem's sigma is the noise's standard deviation, noise_multiplier times
    `max_grad_norm` C. `vector_length` s: number of parameters for eq. 15, of pixels for eq. 17. A bound, far above the truth,
    where the teacher is public and the whole gradient is clipped `per_record`; not as the paper trains.
    """
    check_delta(delta)
    sigma = noise_multiplier * max_grad_norm
    slope = 2 * max_grad_norm**2 * vector_length * batch_size * steps * inverse_square(sigma)

    def epsilon(log_order: float) -> float:
        """At order a = 1 + e^x."""
        excess = math.exp(log_order)
        return slope * (1 + excess) + log_order - math.log1p(excess) - (math.log(delta) + math.log1p(excess)) / excess

    best = math.inf if math.isinf(slope) else float(minimize_scalar(epsilon, bounds=(-14.0, 14.0), method="bounded").fun)  # pyright: ignore[reportAttributeAccessIssue]
    return PrivacyValue(
        epsilon=max(0.0, best),
        delta=delta,
        status="proved" if per_record else "not_proved",
        accountant="RDP",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="none claimed",
        reason=CHARGES if per_record else LEAVES_OUT,
        source="Liu et al. 2024 (DP-SAD), Theorem 4",
    )


# Images of 28x28 and more.
LARGE: dict[str, Any] = {
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "unprotected_teacher.steps": 2000,
    "private_teacher.steps": 200,
    "student.steps": 200,
    "student.learning_rate": 6e-4,
    "student.noise_multiplicity": 1,
    "discriminator.steps": 200,
    "ema_decay": 0.99,
}


def own_labels(facts: DatasetFacts) -> dict[str, Any]:
    """The paper's labels of images that have none: k-means on features that a network learned without labels."""
    return {} if facts.classes else {"labels.source": "self-supervised"}


def paper(facts: DatasetFacts, mode: Mode) -> dict[str, Any]:
    """A mode of the paper in minutes: one time step a batch, as printed; few steps on large batches, which the claim favours."""
    return {
        "mode": mode,
        **own_labels(facts),
        "diffusion.timesteps": 1000,
        "diffusion.prediction": "epsilon",
        "timestep_per": "batch",
        "student.steps": 300,
        "student.batch_size": min(300, facts.num_records),
        "student.noise_multiplicity": 1,
        "student.learning_rate": 2e-3,
        "discriminator.steps": 300,
    }


def published(facts: DatasetFacts, mode: Mode, noise_multiplier: float) -> dict[str, Any]:
    """T = 500 and lambda = 1 are the paper's; batch, steps and noise are ours, as it prints none."""
    sound = mode == "sound"
    return {
        "mode": mode,
        **({} if sound else own_labels(facts)),
        "diffusion.timesteps": 500,
        "diffusion.prediction": "epsilon",
        "adversarial_weight": 1.0,
        "compared": "image",
        "timestep_per": "batch",
        "student.batch_size": facts.num_records / 15 if sound else min(64, facts.num_records),
        "student.steps": 4500 if sound else 1000,
        "student.noise_multiplier": noise_multiplier,
        "student.noise_multiplicity": 1,
    }


def delta(_facts: DatasetFacts) -> float:
    """The paper's."""
    return 1e-5


PRESETS = Method.presets | {
    "selected": SELECTED,
    "eq15": Preset(
        "The paper's mode with the whole gradient clipped; losses compare predicted noise. Minutes; it rests on its claim.",
        partial(paper, mode="eq15"),
    ),
    "eq17": Preset(
        "The paper's mode with the output clipped; losses compare predicted noise. Minutes; it rests on its claim.",
        partial(paper, mode="eq17"),
    ),
    "published": Preset(
        "The paper's T and lambda with the output clipped, at noise that claims 10 for MNIST.",
        partial(published, mode="eq17", noise_multiplier=7500),
        delta,
    ),
    "published-eq15": Preset(
        "The paper's T and lambda with the gradient clipped, at noise that claims 10 for MNIST: 340 000 times the clipping norm.",
        partial(published, mode="eq15", noise_multiplier=340_000),
        delta,
    ),
    "published-sound": Preset(
        "The paper's T and lambda with a public teacher and private steps on the student, at MNIST's rate 1/15 for a bound of 10.",
        partial(published, mode="sound", noise_multiplier=2.487),
        delta,
    ),
}


LABELLING = ("labels.source", "labels.clusters", "labels.rounds")  # what decides its time


class DPSAD(Method):
    """A student distilled from a teacher by private steps, beside a discriminator of both."""

    name = "dp-sad"
    title = "DP-SAD"
    source = "Liu et al. 2024, with a sound mode of ours"
    Config = DPSADConfig
    implementation = "workbench.methods.dp_sad.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("ema", "teacher_ema", "public_ema")
    interruptible: ClassVar[tuple[str, ...]] = (
        STUDENT,
        DISCRIMINATOR,
    )
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler", "drawn_from")
    shapes: ClassVar[tuple[str, ...] | None] = (
        "network",
        "student.noise_multiplicity",
        "private_teacher.noise_multiplicity",
        "mode",
        "teacher",
        "adversarial_weight",
        *LABELLING,
        *SHAPES,
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("student.noise_multiplier", high=1e6),)
    config: DPSADConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or hours (28x28)."""
        large = facts.dimensions > 300
        batch = min(1000 if large else 450, facts.num_records)
        return {
            "network": default_network(facts),
            "private_teacher.batch_size": batch,
            "student.batch_size": batch,
            "unprotected_teacher.batch_size": min(128, facts.num_records),
            **(LARGE if large else {}),
        }

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The student's noise, and with it a private teacher's, that meets `epsilon`; the paper's modes meet a claim alone.

        DP k-means and votes take their shares before it.
        """
        assert isinstance(config, DPSADConfig)
        if target == "bound" and not config.is_sound:
            reason = EQ15 if config.mode == "eq15" else EQ17
            raise WorkbenchError(f"The mode {config.mode} takes no bound to meet. {reason} Use mode=sound, or the target 'claim'.")
        if config.labels.are_paid_for:
            config = votes.with_vote_noise(config, "labels", config.labels.share, facts, epsilon, delta)
        if config.selected.takes_place:
            config = votes.with_vote_noise(config, "selected.selection", config.selected.share, facts, epsilon, delta)
        return super().calibrated(config, facts, epsilon, delta, target)

    @property
    def public_dataset(self) -> str | None:
        """The dataset of the teacher's public steps, or None."""
        return self.config.pretraining.dataset if self.config.learns_in_public else None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.pretraining.records

    @property
    def needs_public_labels(self) -> bool:
        """Where votes go by a classifier's features."""
        return self.config.selected.selection.needs_public_labels

    @property
    def has_public_model(self) -> bool:
        """The teacher as its public steps left it."""
        return self.config.has_public_model

    @property
    def selects_public(self) -> bool:
        """Where the teacher began with a selection."""
        return self.config.selected.takes_place

    @property
    def draws_labels(self) -> bool:
        """Where they are the dataset's own."""
        return self.config.labels.are_given

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Teacher, student, discriminator; which of them are paid for depends on the mode."""
        check_model(self.config, facts)
        return sound_stages(self.config, facts) if self.config.is_sound else paper_stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Theorem 4 of the paper, where it begins as the paper does."""
        if self.config.selected.takes_place:
            return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=UNCLAIMED, source=self.source)
        return claim(self.config, facts, delta)

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The student's steps as Theorem 4 counts them: 2 C^2 s B a/sigma^2 at order a is a Gaussian's of sigma/(2 C sqrt(s B))."""
        student = self.config.student
        length = clipped_length(self.config, facts) * student.batch_size
        event = dp_event.GaussianDpEvent(student.known_noise_multiplier(STUDENT) / (2 * math.sqrt(length)))
        return [Stage(STUDENT, event, "per_step", student.steps, sampling="none claimed")]
