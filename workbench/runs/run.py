"""What a run is: one frozen value with its plan, its three numbers, and the life of the job that trains it."""

from typing import Any

from pydantic import Field

from workbench.jobs.job import Life, Terms, check_id
from workbench.plan import Plan
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.attacks.canaries import AuditDesign

TRAIN = "train"  # the task of the job that makes a run
TRAINING = Terms(
    title="training",
    grace_seconds=120.0,  # for the step at work to end and a checkpoint to be written
    repeatable=False,
    trains=True,
    cpu_share=1.0,
    death="The worker ended before it could write a last checkpoint; `resume` goes on from the one before.",
)


def check_run_id(run_id: str) -> str:
    """Return `run_id` if it has the form of one; nothing else ever becomes part of a path."""
    return check_id(run_id, "run", "workbench runs")


class Run(Life):
    """One run as the registry knows it; epsilons are at the plan's delta.

    `step` of `steps` counts over all stages. `epsilon_spent` is a proved upper bound of what has been spent, evaluated a
    little ahead of the step. `charged` is what the ledger had of each paid stage when its worker last said so: the steps, and those counted
    again. `settled` is the last attempt after whose end the ledger was asked what it had spent.
    `audit`: canaries took places of its records, to measure a lower bound; it must not be released.
    `ends_early`: its owner had it end before its last step, with the model as it was; its bound covers all steps.
    `name`, `note` and `tags` are its owner's. `releasable`: once it is done, samples and weights may leave the room at `bound`.
    """

    method: str
    dataset: str
    fingerprint: str
    epsilon_spent: float = 0.0
    charged: dict[str, tuple[int, int]] = Field(default_factory=dict)
    settled: int = 0
    delta: float
    claim: PrivacyValue
    bound: PrivacyValue
    config: dict[str, Any]
    plan: Plan
    performance: dict[str, Any]
    device: str
    seed: int | None = None
    releasable: bool
    claim_only: bool
    example: bool = False
    parent: str | None = None
    audit: AuditDesign | None = None
    ends_early: bool = False
    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()

    @property
    def may_be_released(self) -> bool:
        """Whether samples and weights may leave the room now: until a run is done its checkpoint holds the noise key."""
        return self.releasable and self.state == "done"

    @property
    def replace_one(self) -> PrivacyValue | None:
        """The plan's bound where one record is replaced by another; None if it has none, or if more than the plan has been paid for."""
        paid_for = max(self.bound.epsilon, self.epsilon_spent) <= self.plan.bound.epsilon
        return self.plan.replace_one if paid_for else None

    @property
    def release_reason(self) -> str:
        """Why samples and weights may leave the room, or may not, in one sentence."""
        if self.releasable and not self.may_be_released:
            return "Only a finished run may be released: until then its checkpoint holds the noise key."
        return release_words(self.bound, self.releasable, self.seed is not None, self.audit is not None)


def release_words(bound: PrivacyValue, releasable: bool, seeded: bool, audited: bool) -> str:
    """Why samples and weights of a finished run may leave the room at `bound`, or may not."""
    if releasable:
        return f"Samples and weights carry the proved bound epsilon {bound.epsilon:.4g} at delta {bound.delta:.4g}."
    if seeded:
        return "The run is seeded: its noise can be drawn again by whoever knows the seed."
    if audited:
        return "The run is audited: canaries were among its records. Train another by the same plan to release."
    return bound.reason or "No finite bound is proved for this run."
