"""The method: what it needs to be planned; what votes and samples is loaded when it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

from workbench.datasets import DATASETS
from workbench.datasets.base import DatasetFacts
from workbench.datasets.joined import JOIN
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, Workload
from workbench.methods.public_choice.config import CHOICE, IMAGES, PublicChoiceConfig
from workbench.models.sample_request import SampleRequest
from workbench.models.selection.config import default_blur
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

DRAWN = ("glyphs", "processes", "cartoons")


class PublicChoice(Method):
    """One noisy histogram: how many records have their nearest public image in each of several public datasets."""

    name = "public-choice"
    title = "Choice of public images"
    source = "the workbench's own: one round of votes (Lin et al. 2024) for datasets in the place of images"
    Config = PublicChoiceConfig
    released: ClassVar[tuple[str, ...]] = ("public_images", "votes")
    workload: ClassVar[Workload] = Workload({CHOICE: ("num_records",)}, ("candidates", "records", "blur"))
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: PublicChoiceConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """All public datasets that can be drawn at the records' size, and a blur that suits it."""
        fitting = [
            name for name in DRAWN if DATASETS[name].sides[0] <= min(facts.shape[1:]) <= max(facts.shape[1:]) <= DATASETS[name].sides[1]
        ]
        return {"blur": default_blur(facts)} | ({"candidates": tuple(fitting)} if len(fitting) > 1 else {})

    @property
    def public_dataset(self) -> str:
        """The candidates, in turn."""
        return JOIN.join(self.config.candidates)

    @property
    def public_records(self) -> int:
        """Images of all candidates together."""
        return self.config.records * len(self.config.candidates)

    @property
    def selects_public(self) -> bool:
        """All that it draws are images of one candidate."""
        return True

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The candidates' images (free) and the votes."""
        if self.config.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier of the votes, got none: give one, or an epsilon to calibrate it to.")
        votes = Stage(
            name=CHOICE,
            event=ReplaceOneGaussianDpEvent(self.config.noise_multiplier / math.sqrt(2), zero_out_ratio=math.sqrt(0.5)),
            spent="once",
            relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
            sampling="all records, once",
            reason="A record adds one to the count of one public dataset, whatever its label: making it null moves one count by 1, "
            "replacing it at most two.",
        )
        return [Stage(IMAGES, None, "free"), votes]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the candidates' images and their counts."""
        from workbench.methods.public_choice import voting

        return voting.add_to(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Keep the public images; count votes for them."""
        from workbench.methods.public_choice import voting

        yield from voting.fit(self.config, data, public, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images of the dataset with the most noisy votes, as they are; labels tell nothing of them."""
        from workbench.methods.public_choice import voting

        return voting.drawn(state, request)
