"""The method: public pre-training, phase one, phase two by DP-SGD, sampling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_diffusion
from workbench.errors import WorkbenchError
from workbench.lazy import torch
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, SampleRequest, Target, Workload
from workbench.methods.dp_promise import claim, phase_one, published, smaller
from workbench.methods.dp_promise.config import LARGE, DPPromiseConfig
from workbench.methods.dp_promise.phase_one import PHASE_ONE
from workbench.methods.fields import with_values
from workbench.models import image_diffusion
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.training.row_losses import RowLosses

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
            PRETRAINING: ("pretraining.batch_size",),
            PHASE_ONE: ("phase_one.batch_size", "phase_one.draws"),
            PHASE_TWO: ("phase_two.batch_size", "phase_two.noise_multiplicity"),
        },
        ("network", "phase_one.draws", "phase_two.noise_multiplicity", "targets"),
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("phase_two.noise_multiplier"),)
    config: DPPromiseConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
        values: dict[str, Any] = {"network": image_diffusion.default_network(facts)}
        if facts.dimensions <= 300:
            sizes = {"phase_one.batch_size": 16, "phase_two.batch_size": 450}
        else:
            values, sizes = values | LARGE, {"phase_one.batch_size": 32, "phase_two.batch_size": 1000}
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
        if target == "bound" and config.targets == "paper" and config.phase_one.steps:
            raise WorkbenchError(f"No noise multiplier bounds this run. {phase_one.REFUTED} Use targets=renoised, or the target 'claim'.")
        if config.boundary is None and config.phase_one.steps:
            config = with_values(config, {"boundary": phase_one.smallest_boundary(config, facts, epsilon, delta, target)})
        return super().calibrated(config, facts, epsilon, delta, target)

    @property
    def public_dataset(self) -> str | None:
        """The dataset of the public pre-training, or None."""
        return self.config.pretraining.dataset if self.config.pretraining.takes_place else None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.pretraining.records

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), phase one, phase two."""
        image_diffusion.check_sampler(self.config)
        stages = []
        if self.config.pretraining.takes_place:
            stages.append(self.config.pretraining.free_stage(PRETRAINING))
        if self.config.phase_one.steps:
            stages.append(phase_one.stage(self.config, facts))
        return [*stages, self.config.phase_two.stage(PHASE_TWO, facts.num_records)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Theorem 2 of the paper: the central limit of both phases, converted from GDP to DP."""
        phase_two = self.config.phase_two
        return claim.claimed(
            **phase_one.terms(self.config, facts),
            sample_rate_2=phase_two.sample_rate(facts.num_records),
            steps_2=phase_two.steps,
            noise_multiplier=phase_two.known_noise_multiplier(PHASE_TWO),
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
            PRETRAINING: torch.optim.Adam(network.parameters(), lr=self.config.pretraining.learning_rate),
            PHASE_ONE: torch.optim.Adam(tuned, lr=self.config.phase_one.learning_rate),
            PHASE_TWO: torch.optim.Adam(tuned, lr=self.config.phase_two.learning_rate),
        }
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Algorithm 1: pre-train on public records, then phase one, then phase two."""
        if self.config.pretraining.takes_place:
            if public is None:
                raise WorkbenchError(f"Expected public records of {self.config.pretraining.dataset!r} for pre-training, got none.")
            yield from self._pretrain(public, state)
        images, rows = image_diffusion.as_tensors(data, state.device)
        if self.config.phase_one.steps:
            yield from self._train_phase_one(images, data, state)
        yield from self._train_phase_two((images, rows), data, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Algorithm 2 with the moving average; source 'public' takes the one from before phase one."""
        if request.source == "public" and not self.config.pretraining.takes_place:
            raise WorkbenchError("This run had no public pre-training, so it has no model of public data alone.")
        name = "public_ema" if request.source == "public" else "ema"
        return image_diffusion.draw_samples(self.config, image_diffusion.averaged(state, name), state, request)

    # training

    def _pretrain(self, public: Records, state: State) -> Iterator[Step]:
        """Ordinary conditional training on public images; its moving average is kept for the epsilon-0 row."""
        from workbench.training.ordinary_training import OrdinaryTrainer

        settings = self.config.pretraining
        loss = image_diffusion.ordinary_loss(self.config, public, state, PRETRAINING, settings.batch_size, self.config.label_dropout)
        for step in OrdinaryTrainer(settings, PRETRAINING, state, loss, private=False, averages={"ema": "network"}).run():
            if step.step == step.steps:
                state.modules["public_ema"].load_state_dict(state.modules["ema"].state_dict())
            yield step

    def _train_phase_one(self, images: Tensor, data: Records, state: State) -> Iterator[Step]:
        """Unconditional training of the time steps beyond the boundary."""
        from workbench.training.ordinary_training import OrdinaryTrainer

        network = image_diffusion.ordinary(self._begin(PHASE_ONE, state)[0], state)
        if self.config.targets == "renoised":
            loss = partial(phase_one.renoised_loss, self.config, network, images, state)
        else:
            present = torch.from_numpy(data.mask).to(state.device)
            loss = partial(phase_one.paper_loss, self.config, network, images, present, state)
        yield from OrdinaryTrainer(self.config.phase_one, PHASE_ONE, state, loss, private=True, averages={"ema": "network"}).run()

    def _train_phase_two(self, tensors: tuple[Tensor, Tensor], data: Records, state: State) -> Iterator[Step]:
        """DP-SGD on the time steps up to the boundary, with labels and noise multiplicity."""
        from workbench.training.private_training import PrivateTraining

        network, ema = self._begin(PHASE_TWO, state)
        diffusion = build_diffusion(self.config.diffusion)
        last = self.config.last_private_timestep - (1 if self.config.targets == "paper" and self.config.phase_one.steps else 0)

        def losses(batch: tuple[Tensor, ...]) -> RowLosses:
            return image_diffusion.row_losses(diffusion, network, batch, last)

        settings = self.config.phase_two
        yield from PrivateTraining(settings, PHASE_TWO, network, state, tensors, losses, present=data.mask, average=ema).run()

    def _begin(self, stage: str, state: State) -> tuple[networks.UNet, networks.ExponentialMovingAverage]:
        """Start a stage from the moving average so far; a resumed stage goes on where it stands."""
        network, ema = state.modules["network"], state.modules["ema"]
        assert isinstance(network, networks.UNet)
        assert isinstance(ema, networks.ExponentialMovingAverage)
        for parameter in network.parameters():
            parameter.requires_grad_(True)
        if self.config.pretraining.takes_place:
            for parameter in network.time_parameters():
                parameter.requires_grad_(False)
        if state.steps.get(stage, 0) == 0:
            network.load_state_dict(ema.module.state_dict())
        return network, ema

    def _tuned_parameters(self, network: networks.UNet) -> list[torch.nn.Parameter]:
        """All parameters, less the time embedding that public pre-training has fixed."""
        frozen = {id(parameter) for parameter in network.time_parameters()} if self.config.pretraining.takes_place else set()
        return [parameter for parameter in network.parameters() if id(parameter) not in frozen]
