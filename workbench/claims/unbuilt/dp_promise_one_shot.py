"""A reading of dp-promise that is not built: every record noised once and kept, and phase two as published."""

from workbench.claims.planned import PlannedClaim
from workbench.claims.row import ClaimRow
from workbench.methods.dp_promise import DPPromise, claim, phase_one
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage

REASON = (
    "Every record is noised once, which is an exact Gaussian mechanism, and phase I may train on the copies as long as wanted. "
    "The claim is the formula of the published two phases, shown for comparison."
)


class OneShot:
    """The row of the paper's targets, with another phase one."""

    def row(self, name: str) -> ClaimRow:
        """Claim and setting of the published plan; the bound of one noised copy and of the plan's phase two."""
        published = PlannedClaim("dp-promise", DPPromise.readings["dp-promise"])
        plan = published.plan()
        method = plan.build()
        assert isinstance(method, DPPromise)
        distance = claim.phase_one_distance(plan.facts.dimensions, phase_one.alpha_at_boundary(method.config))
        event = ReplaceOneGaussianDpEvent(1 / distance, zero_out_ratio=0.5)
        release = Stage("one-shot release", event, "once", 1, ("REPLACE_SPECIAL", "REPLACE_ONE"), "every record once")
        bound = proved_bound([release, plan.stages[-1]], plan.delta)
        title = "dp-promise with one noised copy of every record"
        return published.row_of(plan, name).model_copy(update={"title": title, "bound": bound.model_copy(update={"reason": REASON})})
