"""What a teaching panel is asked for: an inert value with defaults."""

from pydantic import BaseModel, ConfigDict

DELTA = 1e-5  # at which panels tell the epsilon of one release


class PanelChoices(BaseModel, frozen=True):
    """The choices of a panel; every one has a default, so that a panel shows something before anything is chosen."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
