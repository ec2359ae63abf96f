"""What a PAC audit is asked for."""

from pydantic import BaseModel, ConfigDict, Field

from workbench.seeds import Seed


class PacRequest(BaseModel):
    """How many trainings, each on a random half, how many images of each, and the seed of halves, trainings and samples."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    draws: int = Field(default=16, ge=2, le=10_000)
    images: int = Field(default=64, ge=2, le=10_000)
    seed: Seed = 0
