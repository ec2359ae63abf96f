"""The method: public pre-training, phase one, phase two by DP-SGD, sampling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dp_accounting import dp_event

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_diffusion
from workbench.errors import WorkbenchError
from workbench.lazy import torch
from workbench.methods.base import NOISE_MULTIPLIERS, Method, MethodConfig, Preset, Reading, SampleRequest, Target, Workload
from workbench.methods.dp_promise import claim, phase_one, published, smaller
from workbench.methods.dp_promise.config import LARGE, DPPromiseConfig
from workbench.methods.dp_promise.phase_one import PHASE_ONE
from workbench.models import image_diffusion
from workbench.privacy.accounting import calibration
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.poisson import poisson_batch
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.training.private_step import PrivateStep

PRETRAINING, PHASE_TWO = "public pre-training", "phase two"


def published_preset(epsilon: float) -> Preset:
    """The authors' settings for a claim of `epsilon`."""
    return Preset(
        f"The authors' settings for epsilon {epsilon:g} on the published dataset most like this one: the paper's targets, "
        "the sizes, noise and realised sampling rate of their code, the paper's delta.",
        partial(published.published, epsilon=epsilon),
        published.delta,
        published.note,
    )


class DPPromise(Method):
    """Two-phase training with public pre-training, private labels in phase two only, and a frozen time embedding."""

    name = "dp-promise"
    title = "dp-promise"
    source = "Wang et al. 2024, Algorithm 1"
    Config = DPPromiseConfig
    presets: ClassVar[dict[str, Preset]] = Method.presets | {
        "published": published_preset(10),
        "published-5": published_preset(5),
        "published-1": published_preset(1),
        "published-0.2": published_preset(0.2),
        "published-renoised": Preset(
            "The authors' settings for epsilon 10, with the renoised targets, which have a proof.",
            published.renoised,
            published.delta,
            published.note,
        ),
        "printed": Preset(
            "The settings at epsilon 10 as the paper prints them, sampling rate and steps too.",
            published.printed,
            published.delta,
            published.printed_note,
        ),
    }
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    released: ClassVar[tuple[str, ...]] = ("ema", "public_ema")
    workload: ClassVar[Workload] = Workload(
        {
            PRETRAINING: ("pretraining_batch_size",),
            PHASE_ONE: ("phase_one_batch_size", "phase_one_draws"),
            PHASE_TWO: ("phase_two_batch_size", "noise_multiplicity"),
        },
        ("network", "phase_one_draws", "noise_multiplicity", "targets"),
    )
    config: DPPromiseConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
        values: dict[str, Any] = {"network": image_diffusion.default_network(facts)}
        if facts.dimensions <= 300:
            sizes = {"phase_one_batch_size": 16, "phase_two_batch_size": 450}
        else:
            values, sizes = values | LARGE, {"phase_one_batch_size": 32, "phase_two_batch_size": 1000}
        return values | {name: min(size, facts.num_records) for name, size in sizes.items()}

    @classmethod
    def adapted(
        cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target, given: Set[str]
    ) -> tuple[MethodConfig, str]:
        """A smaller phase one, or none, where the usual one cannot keep to its share of `epsilon`."""
        assert isinstance(config, DPPromiseConfig)
        if target == "bound" and config.targets == "paper":
            return config, ""  # `calibrated` refuses it
        return smaller.adapted(config, smaller.Aim(facts, epsilon, delta, target), given)

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The boundary (unless given) whose phase one fits its share, then the noise multiplier that meets `epsilon`."""
        assert isinstance(config, DPPromiseConfig)
        if target == "bound" and config.targets == "paper" and config.phase_one_steps:
            raise WorkbenchError(f"No noise multiplier bounds this run. {phase_one.REFUTED} Use targets=renoised, or the target 'claim'.")
        if config.boundary is None and config.phase_one_steps:
            config = config.model_copy(update={"boundary": phase_one.smallest_boundary(config, facts, epsilon, delta, target)})

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
        image_diffusion.check_sampler(self.config)
        stages = []
        if self.config.uses_public_data:
            stages.append(Stage(PRETRAINING, dp_event.NoOpDpEvent(), "free", self.config.pretraining_steps))
        if self.config.phase_one_steps:
            stages.append(phase_one.stage(self.config, facts))
        return [*stages, self.phase_two(facts)]

    def phase_two(self, facts: DatasetFacts) -> Stage:
        """DP-SGD: Poisson batches, per-record clipping, division by the expected batch size."""
        self.config.check_batches(facts)
        assert self.config.noise_multiplier is not None
        return Stage(
            PHASE_TWO,
            dp_event.PoissonSampledDpEvent(self.config.sample_rate(facts), dp_event.GaussianDpEvent(self.config.noise_multiplier)),
            "per_step",
            self.config.phase_two_steps,
            sampling="Poisson batches",
            reason="Per-record gradients are clipped and the noisy sum is divided by the expected batch size, a constant.",
        )

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Theorem 2 of the paper: the central limit of both phases, converted from GDP to DP."""
        assert self.config.noise_multiplier is not None
        return claim.claimed(
            **phase_one.terms(self.config, facts),
            sample_rate_2=self.config.sample_rate(facts),
            steps_2=self.config.phase_two_steps,
            noise_multiplier=self.config.noise_multiplier,
            delta=delta,
        )

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
        network = image_diffusion.new_network(self.config, facts, state)
        state.modules = {
            "network": network,
            "ema": image_diffusion.new_ema(self.config, network, state),
            "public_ema": image_diffusion.new_ema(self.config, network, state),
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
        tensors = image_diffusion.as_tensors(data, state.device)
        if self.config.phase_one_steps:
            yield from self._train_phase_one(tensors[0], state)
        yield from self._train_phase_two(tensors, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Algorithm 2 with the moving average; source 'public' takes the one from before phase one."""
        if request.source == "public" and not self.config.uses_public_data:
            raise WorkbenchError("This run had no public pre-training, so it has no model of public data alone.")
        name = "public_ema" if request.source == "public" else "ema"
        return image_diffusion.draw_samples(self.config, image_diffusion.averaged(state, name), state, request)

    # training

    def _pretrain(self, public: Records, state: State) -> Iterator[Step]:
        """Ordinary conditional training on public images; its moving average is kept for the epsilon-0 row."""
        diffusion = build_diffusion(self.config.diffusion)
        steps = self.config.pretraining_steps
        batches = image_diffusion.train_ordinarily(
            image_diffusion.as_tensors(public, state.device),
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
        loss_of = phase_one.renoised_loss if self.config.targets == "renoised" else phase_one.paper_loss
        for step in range(state.steps.get(PHASE_ONE, 0) + 1, self.config.phase_one_steps + 1):
            state.spend(PHASE_ONE, step)
            with state.performance.autocast(state.device):
                loss = loss_of(self.config, image_diffusion.ordinary(network, state), images, state, step)
            value = image_diffusion.minimise(network, ema, state.optimizers[PHASE_ONE], loss)
            state.steps[PHASE_ONE] = step
            yield Step(PHASE_ONE, step, self.config.phase_one_steps, value)

    def _train_phase_two(self, data: tuple[Tensor, Tensor], state: State) -> Iterator[Step]:
        """DP-SGD on the time steps up to the boundary, with labels and noise multiplicity."""
        images, rows = data
        network, ema = self._begin(PHASE_TWO, state)
        private = self._private_step(network, state)
        diffusion = build_diffusion(self.config.diffusion)
        last = self.config.last_private_timestep - (1 if self.config.targets == "paper" and self.config.phase_one_steps else 0)
        for step in range(state.steps.get(PHASE_TWO, 0) + 1, self.config.phase_two_steps + 1):
            state.spend(PHASE_TWO, step)
            chosen = poisson_batch(state.randomness, "phase two batch", step, len(images), self.config.sample_rate(state.facts))
            index = torch.from_numpy(chosen).to(images.device)
            losses = image_diffusion.row_losses(diffusion, network, (images[index], rows[index]), last)
            loss = private.step(step, len(chosen), losses)
            ema.update(network)
            state.steps[PHASE_TWO] = step
            yield Step(PHASE_TWO, step, self.config.phase_two_steps, loss)

    def _private_step(self, network: networks.UNet, state: State) -> PrivateStep:
        """The clipped and noised step of phase two on the state's own optimiser."""
        from workbench.training.private_step import PrivateStep

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

    def _begin(self, stage: str, state: State) -> tuple[networks.UNet, networks.ExponentialMovingAverage]:
        """Start a stage from the moving average so far; a resumed stage goes on where it stands."""
        network, ema = state.modules["network"], state.modules["ema"]
        assert isinstance(network, networks.UNet)
        assert isinstance(ema, networks.ExponentialMovingAverage)
        for parameter in network.parameters():
            parameter.requires_grad_(True)
        if self.config.uses_public_data:
            for parameter in network.time_parameters():
                parameter.requires_grad_(False)
        if state.steps.get(stage, 0) == 0:
            network.load_state_dict(ema.module.state_dict())
        return network, ema

    def _tuned_parameters(self, network: networks.UNet) -> list[torch.nn.Parameter]:
        """All parameters, less the time embedding that public pre-training has fixed."""
        frozen = {id(parameter) for parameter in network.time_parameters()} if self.config.uses_public_data else set()
        return [parameter for parameter in network.parameters() if id(parameter) not in frozen]
