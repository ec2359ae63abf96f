"""A stage as plain values: as a plan keeps it, in the registry, a link or a file."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from workbench.privacy.accounting.stages import Relation, Stage


class PlannedStage(BaseModel):
    """A `Stage` as plain values; `event` is the JSON form of one step's event."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    event: dict[str, Any]
    spent: Literal["once", "per_step", "free"]
    steps: int = Field(default=1, ge=0)
    relations: tuple[Relation, ...]
    sampling: str = ""
    reason: str = ""
    sampler_distance: float = Field(default=0.0, ge=0.0, le=1.0)

    @classmethod
    def of(cls, stage: Stage) -> Self:
        """The stage's values."""
        from workbench.privacy.accounting.events import (
            event_to_json,  # dp-accounting takes a second, which a list of runs need not wait for
        )

        fields = {name: getattr(stage, name) for name in cls.model_fields}
        return cls(**{**fields, "event": event_to_json(stage.event)})

    @property
    def stage(self) -> Stage:
        """The stage, as accountants and the ledger take it."""
        from workbench.privacy.accounting.events import event_from_json

        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return Stage(**{**fields, "event": None if self.spent == "free" else event_from_json(self.event)})
