"""What methods have in common whose samples may follow counts of labels that are paid for (`config.labels`)."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from workbench.methods.base import Method
from workbench.models.label_shares import LABEL_COUNTS, PaidLabelShares


class CountedLabelsSettings(Protocol):
    """The part of a configuration that says whether counts of labels are released."""

    @property
    def labels(self) -> PaidLabelShares: ...


SettingsT = TypeVar("SettingsT", bound=CountedLabelsSettings)


class CountedLabels(Method, Generic[SettingsT]):
    """The counts are among what is released, and samples follow them, where the configuration pays for them."""

    config: SettingsT

    @property
    def released_parts(self) -> tuple[str, ...]:
        """What every configuration releases, and the counts of labels where samples follow them."""
        return (*self.released, *[LABEL_COUNTS] * self.config.labels.are_released)

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by counts that were paid for."""
        return self.config.labels.are_released
