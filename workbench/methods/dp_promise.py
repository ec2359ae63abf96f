"""dp-promise (Wang et al. 2024): the diffusion's own noise protects the late time steps, DP-SGD the early ones.

Phase I trains the time steps after the boundary S on records that the forward process has noised, phase II the steps up to
S by DP-SGD. The paper's regression target in phase I reveals the record (docs/proofs.md, section 3); the default here regresses on a
renoised release instead, which has a proof (docs/proofs.md, section 4).
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, Self

import torch
from dp_accounting import dp_event
from pydantic import Field
from torch import Tensor

from workbench.datasets.base import DatasetFacts, Records
from workbench.diffusion import DiffusionConfig, SamplerConfig, build_diffusion, build_schedule
from workbench.errors import WorkbenchError
from workbench.methods import ddpm
from workbench.methods.base import NOISE_MULTIPLIERS, Method, MethodConfig, Preset, SampleRequest, Target, check_batch_size
from workbench.networks import ExponentialMovingAverage, UNet, UNetConfig
from workbench.privacy import calibration, claims
from workbench.privacy.events import FixedBatchGaussianDpEvent, UnprovedDpEvent
from workbench.privacy.stages import Stage
from workbench.privacy.values import PrivacyValue
from workbench.training.microbatch import Microbatch
from workbench.training.poisson import fixed_size_batch, poisson_batch
from workbench.training.private_step import PrivateStep
from workbench.training.state import State, Step

PRETRAINING, PHASE_ONE, PHASE_TWO = "public pre-training", "phase one", "phase two"
REFUTED = (
    "The paper's regression target in phase one, the noise itself, gives the record away together with the noised image: one "
    "mean gradient of a linear network decides membership exactly. Post-processing covers the noised image "
    "alone (docs/proofs.md, section 3)."
)


class DPPromiseConfig(MethodConfig):
    """Hyper-parameters of dp-promise; None stands for what calibration finds."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="DP-SGD noise over max_grad_norm; empty calibrates it."
    )
    boundary: int | None = Field(
        default=None, ge=1, description="Time step S between the phases; empty takes the smallest whose phase-one bound fits its share."
    )
    phase_one_share: float = Field(default=0.1, gt=0, lt=1, description="Part of the target epsilon that phase one alone may reach.")
    targets: Literal["renoised", "paper"] = Field(
        default="renoised", description="Regression target of phase one: renoised releases have a proof, the paper's targets have none."
    )
    phase_one_steps: int = Field(default=100, ge=0, description="Steps of phase one; 0 leaves it out.")
    phase_one_batch_size: int = Field(default=16, ge=1, description="Records in a phase-one batch, drawn without replacement.")
    phase_one_learning_rate: float = Field(default=3e-4, gt=0, description="Adam's learning rate in phase one.")
    phase_one_draws: int = Field(default=8, ge=1, description="Time steps trained per renoised release; further draws are free.")
    phase_two_steps: int = Field(default=60, ge=1, description="DP-SGD steps.")
    phase_two_batch_size: float = Field(default=450, gt=0, description="Expected Poisson batch; the sampling rate times num_records.")
    phase_two_learning_rate: float = Field(default=2e-3, gt=0, description="Adam's learning rate in phase two.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")
    max_grad_norm: float = Field(default=0.01, gt=0, description="Clipping norm C of a record's gradient.")
    public_dataset: str = Field(default="glyphs", description="Public images for pre-training; empty (in a form: none) for none.")
    public_records: int = Field(default=20_000, ge=1, description="Public images used.")
    pretraining_steps: int = Field(default=800, ge=0, description="Steps on public images, which cost no privacy.")
    pretraining_batch_size: int = Field(default=128, ge=1, description="Public images in a step.")
    pretraining_learning_rate: float = Field(default=1e-3, gt=0, description="Adam's learning rate on public images.")
    pretraining_schedule: ddpm.LearningRateSchedule = Field(default="cosine", description="How that learning rate falls over the steps.")
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of public images trained without their label, for guidance.")
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    sampler: SamplerConfig = SamplerConfig()

    @property
    def uses_public_data(self) -> bool:
        """Whether there is anything to pre-train on."""
        return bool(self.public_dataset) and self.pretraining_steps > 0


# Images of 28x28 and more: an hour or two on a laptop.
LARGE: dict[str, Any] = {
    "pretraining_steps": 600,
    "pretraining_learning_rate": 6e-4,
    "phase_one_steps": 600,
    "phase_one_draws": 2,
    "phase_two_steps": 300,
    "phase_two_learning_rate": 6e-4,
    "noise_multiplicity": 1,
    "ema_decay": 0.99,
}


def published(facts: DatasetFacts) -> dict[str, Any]:
    """The paper's targets and sizes with the sampling rate that the authors' code realises, 1/ceil(n/4096)."""
    batches = math.ceil(facts.num_records / 4096)
    colour = facts.shape[0] == 3
    return {
        "targets": "paper",
        "noise_multiplier": 1.13,
        "boundary": {28: 900, 32: 925, 64: 950}.get(facts.shape[1], 900),
        "phase_one_batch_size": 32,
        "phase_one_steps": 3 * facts.num_records // 32,
        "phase_one_learning_rate": 3e-4,
        "phase_two_batch_size": facts.num_records / batches,
        "phase_two_steps": 50 * batches,
        "phase_two_learning_rate": 3e-4 if colour else 6e-4,
        "noise_multiplicity": 4 if colour else 32,
        "max_grad_norm": 0.01,
        "ema_decay": 0.9999,
        "pretraining_steps": 50 * 60_000 // 128,
        "pretraining_batch_size": 128,
        "pretraining_learning_rate": 2e-4,
        "pretraining_schedule": "constant",
        "diffusion": {"schedule": "linear", "timesteps": 1000, "prediction": "epsilon"},
        "sampler": {"name": "ddim", "num_inference_steps": 200, "eta": 1.0, "guidance_scale": 0.0},
    }


def printed(facts: DatasetFacts) -> dict[str, Any]:
    """The published settings with the sampling rate 4096/n and the 50 n/4096 steps that the paper prints."""
    batch_size = min(4096, facts.num_records)
    return published(facts) | {"phase_two_batch_size": batch_size, "phase_two_steps": math.ceil(50 * facts.num_records / batch_size)}


class DPPromise(Method):
    """Two-phase training with public pre-training, private labels in phase two only, and a frozen time embedding."""

    name = "dp-promise"
    title = "dp-promise"
    source = "Wang et al. 2024, Algorithm 1"
    Config = DPPromiseConfig
    presets: ClassVar[dict[str, Preset]] = Method.presets | {
        "published": Preset("The paper's targets and sizes, sigma 1.13; the authors' realised sampling rate.", published, 1e-5),
        "printed": Preset("The same with the sampling rate and steps as the paper prints them.", printed, 1e-5),
    }
    released: ClassVar[tuple[str, ...]] = ("ema", "public_ema")
    config: DPPromiseConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or an hour or two (28x28)."""
        values: dict[str, Any] = {"network": ddpm.default_network(facts)}
        if facts.dimensions <= 300:
            sizes = {"phase_one_batch_size": 16, "phase_two_batch_size": 450}
        else:
            values, sizes = values | LARGE, {"phase_one_batch_size": 32, "phase_two_batch_size": 1000}
        return values | {name: min(size, facts.num_records) for name, size in sizes.items()}

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The boundary (unless given) whose phase one fits its share, then the noise multiplier that meets `epsilon`."""
        assert isinstance(config, DPPromiseConfig)
        if target == "bound" and config.targets == "paper" and config.phase_one_steps:
            raise WorkbenchError(f"No noise multiplier bounds this run. {REFUTED} Use targets=renoised, or the target 'claim'.")
        if config.boundary is None and config.phase_one_steps:
            config = config.model_copy(update={"boundary": cls._smallest_boundary(config, facts, epsilon, delta, target)})

        def with_noise(noise_multiplier: float) -> Self:
            return cls(config.model_copy(update={"noise_multiplier": noise_multiplier}))

        found = calibration.calibrate_real(
            lambda value: with_noise(value).stages(facts),
            epsilon,
            delta,
            *NOISE_MULTIPLIERS,
            field="noise_multiplier",
            evaluate=(lambda value: with_noise(value).claim(facts, delta).epsilon) if target == "claim" else None,
        )
        return with_noise(found)

    @classmethod
    def _smallest_boundary(cls, config: DPPromiseConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> int:
        """The smallest S whose phase one alone stays within its share of `epsilon`, by bound or by claim."""

        def with_boundary(boundary: int) -> Self:
            return cls(config.model_copy(update={"boundary": boundary}))

        return calibration.calibrate_integer(
            lambda boundary: [with_boundary(boundary).phase_one(facts)],
            config.phase_one_share * epsilon,
            delta,
            low=1,
            high=config.diffusion.timesteps - 1,
            field="boundary",
            evaluate=(lambda boundary: claims.dp_promise_phase_one(**with_boundary(boundary)._phase_one_terms(facts), delta=delta))
            if target == "claim"
            else None,
        )

    @property
    def public_dataset(self) -> str | None:
        """The dataset of the public pre-training, or None."""
        return self.config.public_dataset if self.config.uses_public_data else None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.public_records

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), phase one, phase two."""
        ddpm.check_sampler(self.config)
        stages = []
        if self.config.uses_public_data:
            stages.append(Stage(PRETRAINING, dp_event.NoOpDpEvent(), "free", self.config.pretraining_steps))
        if self.config.phase_one_steps:
            stages.append(self.phase_one(facts))
        return [*stages, self.phase_two(facts)]

    def phase_one(self, facts: DatasetFacts) -> Stage:
        """One step shows a batch of records under the forward process's noise at the boundary, or worse (paper targets)."""
        self._check_batches(facts)
        if self.config.targets == "paper":
            event = UnprovedDpEvent(REFUTED, "refuted")
            return Stage(PHASE_ONE, event, "per_step", self.config.phase_one_steps, sampling="Poisson batches", reason=REFUTED)
        distance = claims.phase_1_distance(facts.dimensions, self._alphas_cumprod)
        if distance < 1e-6:
            raise WorkbenchError(
                f"Nothing of a record is left at boundary {self._boundary}, so phase one learns nothing. Choose a smaller one."
            )
        noise_multiplier = 1.0 / distance
        event = FixedBatchGaussianDpEvent(facts.num_records, self.config.phase_one_batch_size, noise_multiplier)
        return Stage(
            PHASE_ONE,
            event,
            "per_step",
            self.config.phase_one_steps,
            relations=("REPLACE_ONE", "REPLACE_SPECIAL"),
            sampling="fixed-size batches without replacement, drawn afresh at every step, unordered, without index or label",
            reason="Renoised targets: each step is post-processing of noised records (docs/proofs.md, section 4).",
        )

    def phase_two(self, facts: DatasetFacts) -> Stage:
        """DP-SGD: Poisson batches, per-record clipping, division by the expected batch size."""
        self._check_batches(facts)
        assert self.config.noise_multiplier is not None
        return Stage(
            PHASE_TWO,
            dp_event.PoissonSampledDpEvent(self._sample_rate(facts), dp_event.GaussianDpEvent(self.config.noise_multiplier)),
            "per_step",
            self.config.phase_two_steps,
            sampling="Poisson batches",
            reason="Per-record gradients are clipped and the noisy sum is divided by the expected batch size, a constant.",
        )

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Theorem 2 of the paper: the central limit of both phases, converted from GDP to DP."""
        assert self.config.noise_multiplier is not None
        return claims.dp_promise(
            **self._phase_one_terms(facts),
            sample_rate_2=self._sample_rate(facts),
            steps_2=self.config.phase_two_steps,
            noise_multiplier=self.config.noise_multiplier,
            delta=delta,
        )

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
        network = ddpm.new_network(self.config, facts, state)
        state.modules = {
            "network": network,
            "ema": ddpm.new_ema(self.config, network, state),
            "public_ema": ddpm.new_ema(self.config, network, state),
        }
        tuned = self._tuned_parameters(network)
        state.optimizers = {
            PRETRAINING: torch.optim.Adam(network.parameters(), lr=self.config.pretraining_learning_rate),
            PHASE_ONE: torch.optim.Adam(tuned, lr=self.config.phase_one_learning_rate),
            PHASE_TWO: torch.optim.Adam(tuned, lr=self.config.phase_two_learning_rate),
        }
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Algorithm 1: pre-train on public records, then phase one, then phase two."""
        if self.config.uses_public_data:
            if public is None:
                raise WorkbenchError(f"Expected public records of {self.config.public_dataset!r} for pre-training, got none.")
            yield from self._pretrain(public, state)
        tensors = ddpm.as_tensors(data, state.device)
        if self.config.phase_one_steps:
            yield from self._train_phase_one(tensors[0], state)
        yield from self._train_phase_two(tensors, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Algorithm 2 with the moving average; source 'public' takes the one from before phase one."""
        if request.source == "public" and not self.config.uses_public_data:
            raise WorkbenchError("This run had no public pre-training, so it has no model of public data alone.")
        name = "public_ema" if request.source == "public" else "ema"
        return ddpm.draw_samples(self.config, ddpm.averaged(state, name), state, request)

    # training

    def _pretrain(self, public: Records, state: State) -> Iterator[Step]:
        """Ordinary conditional training on public images; its moving average is kept for the epsilon-0 row."""
        diffusion = build_diffusion(self.config.diffusion)
        steps = self.config.pretraining_steps
        batches = ddpm.train_ordinarily(
            ddpm.as_tensors(public, state.device),
            diffusion,
            state,
            PRETRAINING,
            steps,
            self.config.pretraining_batch_size,
            self.config.label_dropout,
            learning_rate=self.config.pretraining_learning_rate,
            schedule=self.config.pretraining_schedule,
            spend=False,
        )
        for step, loss in batches:
            if step == steps:
                state.modules["public_ema"].load_state_dict(state.modules["ema"].state_dict())
            yield Step(PRETRAINING, step, steps, loss, private=False)

    def _train_phase_one(self, images: Tensor, state: State) -> Iterator[Step]:
        """Unconditional training of the time steps beyond the boundary."""
        network, ema = self._begin(PHASE_ONE, state)
        loss_of = self._renoised_loss if self.config.targets == "renoised" else self._printed_loss
        for step in range(state.steps.get(PHASE_ONE, 0) + 1, self.config.phase_one_steps + 1):
            state.spend(PHASE_ONE, step)
            with state.performance.autocast(state.device):
                loss = loss_of(ddpm.ordinary(network, state), images, state, step)
            value = ddpm.minimise(network, ema, state.optimizers[PHASE_ONE], loss)
            state.steps[PHASE_ONE] = step
            yield Step(PHASE_ONE, step, self.config.phase_one_steps, value)

    def _renoised_loss(self, network: Callable[..., Tensor], images: Tensor, state: State, step: int) -> Tensor:
        """Release y ~ q(x_S | x) of a fresh fixed-size batch; regress on the noise that leads from y to later steps.

        L = || w - sqrt((1 - r) / (1 - abar_t)) z_theta(sqrt(r) y + sqrt(1 - r) w, t) ||^2 with r = abar_t / abar_S.
        """
        diffusion = build_diffusion(self.config.diffusion)
        boundary = self._boundary
        chosen = fixed_size_batch(state.randomness, "phase one batch", step, len(images), self.config.phase_one_batch_size)
        noise = state.randomness.normal("phase one release", step, (len(chosen), *images.shape[1:])).to(images.device)
        at_boundary = torch.full((len(chosen),), boundary, device=images.device)
        released = diffusion.add_noise(images[torch.from_numpy(chosen).to(images.device)], noise, at_boundary)

        # everything below is post-processing of `released`
        released = released.repeat(self.config.phase_one_draws, 1, 1, 1)
        draw = state.randomness.torch_generator("phase one times", step)
        times = torch.randint(boundary + 1, diffusion.timesteps + 1, (len(released),), generator=draw).to(images.device)
        fresh = torch.randn(released.shape, generator=draw).to(images.device)
        alphas = torch.tensor(diffusion.schedule.alphas_cumprod, dtype=torch.float32, device=images.device)
        kept = (alphas[times] / alphas[boundary]).view(-1, 1, 1, 1)  # r
        factor = ((1 - kept) / (1 - alphas[times].view(-1, 1, 1, 1))).sqrt()
        noisy = kept.sqrt() * released + (1 - kept).sqrt() * fresh
        predicted = diffusion.predict_noise(network(noisy, times, torch.zeros_like(times)), noisy, times)
        return (fresh - factor * predicted).square().mean()

    def _printed_loss(self, network: Callable[..., Tensor], images: Tensor, state: State, step: int) -> Tensor:
        """Algorithm 1, lines 2 to 6: a Poisson batch, times in S..T, and the noise itself as the target."""
        diffusion = build_diffusion(self.config.diffusion)
        rate = self.config.phase_one_batch_size / len(images)
        chosen = poisson_batch(state.randomness, "phase one batch", step, len(images), rate)
        batch = images[torch.from_numpy(chosen).to(images.device)]
        draw = state.randomness.torch_generator("phase one times", step)
        times = torch.randint(self._boundary, diffusion.timesteps + 1, (len(batch),), generator=draw).to(images.device)
        noise = torch.randn(batch.shape, generator=draw).to(images.device)
        rows = torch.zeros_like(times)
        return ddpm.plain_loss(diffusion, network, batch, rows, times, noise).sum() / max(len(batch), 1)

    def _train_phase_two(self, data: tuple[Tensor, Tensor], state: State) -> Iterator[Step]:
        """DP-SGD on the time steps up to the boundary, with labels and noise multiplicity."""
        images, rows = data
        network, ema = self._begin(PHASE_TWO, state)
        private = self._private_step(network, state)
        diffusion = build_diffusion(self.config.diffusion)
        last = self._boundary - (1 if self.config.targets == "paper" and self.config.phase_one_steps else 0)
        for step in range(state.steps.get(PHASE_TWO, 0) + 1, self.config.phase_two_steps + 1):
            state.spend(PHASE_TWO, step)
            chosen = poisson_batch(state.randomness, "phase two batch", step, len(images), self._sample_rate(state.facts))
            index = torch.from_numpy(chosen).to(images.device)
            batch, labels = images[index], rows[index]

            def losses(part: Microbatch, batch: Tensor = batch, labels: Tensor = labels) -> Tensor:
                own = part.rows.to(batch.device)
                times = part.integers(1, last + 1)
                noise = part.normal(tuple(batch.shape[1:]))
                return ddpm.plain_loss(diffusion, network, batch[own], labels[own], times, noise)

            loss = private.step(step, len(chosen), losses)
            ema.update(network)
            state.steps[PHASE_TWO] = step
            yield Step(PHASE_TWO, step, self.config.phase_two_steps, loss)

    def _private_step(self, network: UNet, state: State) -> PrivateStep:
        """The clipped and noised step of phase two on the state's own optimiser."""
        assert self.config.noise_multiplier is not None
        return PrivateStep(
            network,
            state.optimizers[PHASE_TWO],
            noise_multiplier=self.config.noise_multiplier,
            max_grad_norm=self.config.max_grad_norm,
            expected_batch_size=self.config.phase_two_batch_size,
            randomness=state.randomness,
            noise_multiplicity=self.config.noise_multiplicity,
            purpose=PHASE_TWO,
            performance=state.performance,
            group=state.group,
            records_at_once=state.records_at_once,
        )

    def _begin(self, stage: str, state: State) -> tuple[UNet, ExponentialMovingAverage]:
        """Start a stage from the moving average so far; a resumed stage goes on where it stands."""
        network, ema = state.modules["network"], state.modules["ema"]
        assert isinstance(network, UNet)
        assert isinstance(ema, ExponentialMovingAverage)
        for parameter in network.parameters():
            parameter.requires_grad_(True)
        if self.config.uses_public_data:
            for parameter in network.time_parameters():
                parameter.requires_grad_(False)
        if state.steps.get(stage, 0) == 0:
            network.load_state_dict(ema.module.state_dict())
        return network, ema

    def _tuned_parameters(self, network: UNet) -> list[torch.nn.Parameter]:
        """All parameters, less the time embedding that public pre-training has fixed."""
        frozen = {id(parameter) for parameter in network.time_parameters()} if self.config.uses_public_data else set()
        return [parameter for parameter in network.parameters() if id(parameter) not in frozen]

    # public facts

    @property
    def _boundary(self) -> int:
        """S; without phase one, phase two has all time steps."""
        if not self.config.phase_one_steps:
            return self.config.diffusion.timesteps
        if self.config.boundary is None:
            raise WorkbenchError("Expected a boundary between the phases: give one, or an epsilon to choose it by.")
        if self.config.boundary >= self.config.diffusion.timesteps:
            raise WorkbenchError(f"Expected a boundary below the {self.config.diffusion.timesteps} time steps, got {self.config.boundary}.")
        return self.config.boundary

    def _sample_rate(self, facts: DatasetFacts) -> float:
        return self.config.phase_two_batch_size / facts.num_records

    @property
    def _alphas_cumprod(self) -> float:
        """abar_S."""
        return float(build_schedule(self.config.diffusion).alphas_cumprod[self._boundary])

    def _phase_one_terms(self, facts: DatasetFacts) -> dict[str, Any]:
        """What the paper's formula knows of phase one."""
        return {
            "num_dimensions": facts.dimensions,
            "num_records": facts.num_records,
            "alphas_cumprod": self._alphas_cumprod,
            "batch_size_1": self.config.phase_one_batch_size,
            "steps_1": self.config.phase_one_steps,
        }

    def _check_batches(self, facts: DatasetFacts) -> None:
        for name in ("phase_one_batch_size", "phase_two_batch_size"):
            check_batch_size(name, getattr(self.config, name), facts)
