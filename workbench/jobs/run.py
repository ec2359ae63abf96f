"""What a run is: one frozen value with its plan, its three numbers, its progress and the process behind it."""

import re
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, model_validator

from workbench import former_plans
from workbench.errors import WorkbenchError
from workbench.plan import Plan
from workbench.privacy.accounting.values import PrivacyValue

RunState = Literal["queued", "starting", "running", "paused", "cancelling", "cancelled", "done", "failed", "lost"]
STATES: tuple[RunState, ...] = get_args(RunState)
ACTIVE: frozenset[RunState] = frozenset({"queued", "starting", "running", "paused", "cancelling"})
RESUMABLE: frozenset[RunState] = frozenset({"cancelled", "failed", "lost"})
STARTABLE: frozenset[RunState] = frozenset({"queued", "cancelled", "failed", "lost"})
RUN_ID = re.compile(r"[a-z0-9]{8}")


def check_run_id(run_id: str) -> str:
    """Return `run_id` if it has the form of one; nothing else ever becomes part of a path."""
    if not RUN_ID.fullmatch(run_id):
        raise WorkbenchError(f"Expected a run id of 8 lower-case letters and digits, got {run_id!r}. `workbench runs` lists them.")
    return run_id


class ProcessIdentity(BaseModel):
    """A process told apart from every other: its pid, when it started, and the boot and pid namespace it belongs to."""

    model_config = ConfigDict(frozen=True)

    pid: int
    started: str
    boot: str


class Run(BaseModel):
    """One run as the registry knows it; times are seconds since the epoch, epsilons are at the plan's delta.

    `step` of `steps` counts over all stages. `epsilon_spent` is a proved upper bound of what has been spent, evaluated a
    little ahead of the step. `attempt` counts the processes that worked on it, the last from step `resumed_at` on;
    those before it ran for `seconds_before` seconds.
    `releasable`: once it is done, samples and weights may leave the room at `bound`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    method: str
    dataset: str
    fingerprint: str
    state: RunState
    stage: str = ""
    step: int = 0
    steps: int = 0
    epsilon_spent: float = 0.0
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
    process: ProcessIdentity | None = None
    attempt: int = 0
    resumed_at: int = 0
    heartbeat: float | None = None
    created: float
    started: float | None = None
    finished: float | None = None
    seconds_before: float = 0.0
    error: str | None = None
    parent: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _plan_as_now(cls, values: Any) -> Any:
        plan = values.get("plan") if isinstance(values, dict) else None
        if isinstance(plan, dict) and former_plans.is_former(plan):
            return {**values, "plan": former_plans.upgraded(plan, values["dataset"])}
        return values

    @property
    def is_active(self) -> bool:
        """Whether a process works, or is about to work, on it."""
        return self.state in ACTIVE

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
        if self.may_be_released:
            return f"Samples and weights carry the proved bound epsilon {self.bound.epsilon:.4g} at delta {self.delta:.4g}."
        if self.releasable:
            return "Only a finished run may be released: until then its checkpoint holds the noise key."
        if self.seed is not None:
            return "The run is seeded: its noise can be drawn again by whoever knows the seed."
        return self.bound.reason or "No finite bound is proved for this run."

    @property
    def seconds_running(self) -> float | None:
        """Seconds from the first step of each attempt to its end or last heartbeat, over all attempts."""
        now = self.seconds_of_attempt
        return now if now is None else self.seconds_before + now

    @property
    def seconds_of_attempt(self) -> float | None:
        """The same of the last attempt alone."""
        end = self.finished or self.heartbeat
        return None if self.started is None or end is None else max(0.0, end - self.started)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the remaining steps take at the mean pace of this attempt; None if unknown."""
        elapsed, taken = self.seconds_of_attempt, self.step - self.resumed_at
        if self.state != "running" or not elapsed or taken <= 0:
            return None
        return elapsed * (self.steps - self.step) / taken
