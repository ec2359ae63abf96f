"""The method: what it needs to be planned; what selects and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method, Preset, Reading, Workload
from workbench.methods.private_evolution import claim
from workbench.methods.private_evolution.config import PrivateEvolutionConfig
from workbench.methods.private_evolution.presets import PRESETS
from workbench.models.sample_request import SampleRequest
from workbench.models.selection.config import CLASSIFIER, DENOISER, RELEASED, VOTES, defaults
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step


class PrivateEvolution(Method):
    """Public images that private records voted for, round by round, and variations of them; nothing is trained on a private record."""

    name = "private-evolution"
    title = "Private Evolution"
    source = "Lin et al. 2024, with a simulator as in Lin et al. 2025"
    Config = PrivateEvolutionConfig
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    released: ClassVar[tuple[str, ...]] = RELEASED
    sampling_fields: ClassVar[tuple[str, ...]] = ("draws", "labels")
    workload: ClassVar[Workload] = Workload(
        {CLASSIFIER: ("selection.classifier.batch_size",), DENOISER: ("selection.denoiser.batch_size",), VOTES: ("num_records",)},
        ("selection.candidates", "selection.space", "selection.blur", "selection.variations"),
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("selection.noise_multiplier"),)
    config: PrivateEvolutionConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Fewer candidates where there are fewer records; a blur of votes and a sharpness of draws that suit the image size."""
        return {**defaults(facts)}

    @property
    def released_parts(self) -> tuple[str, ...]:
        """The model that varies what is drawn too, if there is one."""
        return (*self.released, *self.config.selection.released_models)

    @property
    def public_dataset(self) -> str | None:
        """The images that the first candidates are."""
        return self.config.selection.dataset

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.selection.records

    @property
    def has_public_model(self) -> bool:
        """The candidates before the first vote, drawn alike and varied as those at the end are."""
        return True

    @property
    def selects_public(self) -> bool:
        """All that it draws."""
        return True

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by the totals of the last round's noisy votes, which are released in any case."""
        return self.config.labels.are_released

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Candidates (free) and votes, in turn."""
        return self.config.selection.stages(facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's composition of Gaussian mechanisms of sensitivity 1."""
        selection = self.config.selection
        return claim.claimed(noise_multiplier=selection.known_noise_multiplier(), rounds=selection.rounds, delta=delta)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for candidates and votes."""
        from workbench.models.selection.selector import Selector

        Selector.add_to(self.config.selection, facts, state)
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """All rounds."""
        from workbench.models.selection.selector import Selector

        yield from Selector(self.config.selection, state).run(data, public)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Candidates of the last round drawn by their votes, and varied; source 'public' takes those before the first vote."""
        from workbench.models.label_shares import labels_by
        from workbench.models.selection.selector import Selector

        votes, draw = state.tensors["votes"].sum(dim=1).cpu().numpy(), state.randomness.stream(f"{request.purpose}, labels")
        labels = labels_by(self.config.labels, request, state.facts.num_classes, votes, draw)
        generator = state.randomness.torch_generator(request.purpose, 0, state.device)
        selector = Selector(self.config.selection, state)
        return selector.draw(labels, request.num_samples, self.config.draws, generator, public=request.source == "public")
