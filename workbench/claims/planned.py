"""The claim of a built method: its plan for a dataset at one of its presets."""

from dataclasses import dataclass
from operator import attrgetter

from workbench import datasets
from workbench.claims.row import ClaimRow, setting_text
from workbench.methods.base import Reading
from workbench.plan import Plan
from workbench.planning import make_plan


@dataclass(frozen=True)
class PlannedClaim:
    """One reading of a built method; claim, bound, reason and every number of the setting are the plan's."""

    method: str
    reading: Reading

    def plan(self) -> Plan:
        """The method's plan at the reading's dataset and preset, without an epsilon of ours."""
        return make_plan(self.method, datasets.facts(self.reading.dataset), preset=self.reading.preset, target="claim")

    def row(self, name: str) -> ClaimRow:
        """The line of the table."""
        plan = self.plan()
        return ClaimRow(
            method=name,
            title=self.reading.title,
            formula=self.reading.formula,
            setting=self.setting(plan),
            claim=plan.claim,
            bound=plan.bound,
            source=plan.claim.source,
        )

    def setting(self, plan: Plan) -> str:
        """Dataset, preset, and the values of the configuration and of the facts that the formula names."""
        config, notation = plan.build().config, self.reading.notation
        numbers = {name: attrgetter(name)(plan.facts if hasattr(plan.facts, name) else config) for name in notation}
        return setting_text(f"{plan.facts.name}, preset {plan.preset}", numbers, notation)
