"""Hyper-parameters of Private Evolution."""

from pydantic import Field

from workbench.methods.base import MethodConfig
from workbench.models.label_shares import LabelShares
from workbench.models.selection.config import Draws, Selection


class Evolution(Selection):
    """The rounds; without one there is no method."""

    rounds: int = Field(default=4, ge=1, le=1_000, description="How often all records vote.")


class PrivateEvolutionConfig(MethodConfig):
    """Hyper-parameters of Private Evolution."""

    selection: Evolution = Evolution()
    draws: Draws = Draws()
    labels: LabelShares = LabelShares()
