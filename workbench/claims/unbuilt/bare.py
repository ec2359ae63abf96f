"""A bare claim: formula, arguments by name, releases and reason of a paper that is not built; and releases that several share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from workbench.claims.row import ClaimRow, setting_text
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue

DELTA = 1e-5


@dataclass(frozen=True)
class BareClaim:
    """One paper's formula with its arguments by name, and the releases that its bound follows from.

    `claimed(**arguments, delta=DELTA)` is None where our notes hold no formula, `stages` where nothing is proved or refuted.
    `beside`: numbers that only the releases need. `where`: the setting in words. `reason`: two plain sentences about the bound.
    """

    title: str
    source: str
    reason: str
    formula: str = ""
    where: str = ""
    claimed: Callable[..., PrivacyValue] | None = None
    arguments: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, float] = field(default_factory=dict)
    notation: Mapping[str, str] = field(default_factory=dict)
    stages: Callable[[], list[Stage]] | None = None

    def row(self, name: str) -> ClaimRow:
        """The line of the table."""
        numbers = {**self.beside, **self.arguments}
        return ClaimRow(
            method=name,
            title=self.title,
            formula=self.formula,
            setting=setting_text(self.where, numbers, self.notation) if numbers else self.where,
            claim=self.claimed(**self.arguments, delta=DELTA) if self.claimed else self.not_evaluated(),
            bound=self.bound(),
            source=self.source,
        )

    def bound(self) -> PrivacyValue:
        """What is proved of the releases, with our reason."""
        from workbench.privacy.accounting.bounds import proved_bound

        if self.stages is None:
            return self.not_evaluated()
        return proved_bound(self.stages(), DELTA).model_copy(update={"reason": self.reason, "source": self.source})

    def not_evaluated(self) -> PrivacyValue:
        """The value of a claim without a formula in our notes."""
        return PrivacyValue(epsilon=float("inf"), delta=DELTA, status="not_evaluated", reason=self.reason, source=self.source)


def unproved_stage(reason: str, refuted: bool = False) -> Stage:
    """A release without a finite epsilon."""
    from workbench.privacy.accounting.events import UnprovedDpEvent

    return Stage("training", UnprovedDpEvent(reason, "refuted" if refuted else "not_proved"), "once")
