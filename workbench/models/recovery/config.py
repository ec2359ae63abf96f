"""Settings that the methods on recovery directions share, and what they release. No torch."""

import math
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.langevin import LangevinConfig
from workbench.networks import UNetConfig
from workbench.privacy.accounting.stages import Stage
from workbench.training.ordinary import OrdinaryTraining

RESPONSES, SCORE = "randomised responses", "score network"
REASON = (
    "The randomised response of a record is another record, verbatim. "
    "A data set without that record cannot produce it, so the triples have no finite epsilon; none is known for a network trained on them."
)


class Responses(BaseModel):
    """Randomised response: to which record a noised one is told to recover."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: float = Field(default=10.0, ge=0, le=1e3, description="Of randomised response, which is what is claimed; 1000 keeps all.")
    num_candidates: int = Field(default=64, ge=2, description="Candidates k, the true record among them.")
    candidates: Literal["neighbours", "batch"] = Field(
        default="neighbours", description="The record's k nearest neighbours (the papers), or a random batch of k (the published code)."
    )
    rounds: int = Field(default=10, ge=1, description="Triples made of each record; what is claimed does not grow with them.")
    conditional: bool = Field(default=True, description="Whether labels are kept: then candidates are of one class. As printed: no.")


class ScoreTraining(OrdinaryTraining):
    """Steps on the triples."""

    steps: int = Field(default=1_500, ge=1, description="Steps of the score network on the triples.")
    weighting: Literal["variance", "none"] = Field(
        default="variance", description="Weight of a noise level in the loss: sigma^2 (the published code), or none (eq. 7)."
    )


class RecoverySettings(Protocol):
    """The part of a method's configuration that describes triples, network and sampler."""

    @property
    def responses(self) -> Responses: ...
    @property
    def training(self) -> ScoreTraining: ...
    @property
    def langevin(self) -> LangevinConfig: ...
    @property
    def network(self) -> UNetConfig: ...
    @property
    def ema_decay(self) -> float: ...


def keep_probability(epsilon: float, num_candidates: int) -> float:
    """e^eps/(e^eps + k - 1): how often randomised response over k candidates keeps the true one."""
    return 1.0 / (1.0 + (num_candidates - 1) * math.exp(-epsilon))


def stages(settings: RecoverySettings) -> list[Stage]:
    """The triples, which no epsilon bounds, and the network that learns from them alone."""
    from workbench.privacy.accounting.events import UnprovedDpEvent

    triples = Stage(RESPONSES, UnprovedDpEvent(REASON, "refuted"), "once", sampling="all records", reason=REASON)
    return [triples, settings.training.free_stage(SCORE)]


def claimed_stages(settings: RecoverySettings) -> list[Stage]:
    """The randomised response as the papers count it: once, of an index."""
    from workbench.privacy.accounting.varying import randomized_response

    response = randomized_response(settings.responses.epsilon, settings.responses.num_candidates)
    return [Stage(RESPONSES, response, "once", relations=("REPLACE_ONE",), sampling="all records")]


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net of the image size; fewer triples a record where there are many records."""
    from workbench.models.settings import default_network

    return {"network": default_network(facts), "responses.rounds": 10 if facts.num_records <= 5_000 else 1}
