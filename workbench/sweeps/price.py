"""What a sweep costs, before anything of it starts: its runs, their time, what all of them spend together, and what choosing costs.

Everything is asked of the ledger and of public facts and fingerprints; no record is trained on.
"""

import math
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from workbench.datasets import DATASETS
from workbench.jobs.job import ACTIVE, ENDED
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import plain, zero_out_total
from workbench.recipes.lines import Recipe
from workbench.runs.again import account_with, planned_costs, runs_not_in_ledger
from workbench.runs.launching import account_warning
from workbench.runs.lengths import of_plan, of_task
from workbench.sweeps.children import Child, children
from workbench.sweeps.kept import LETTERS, KeptSweep, identity
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.plan import Plan

SEEDED = (
    "Runs with seeds are repeatable and NOT releasable: whoever knows the seeds can remove the noise. The ledger counts them like others, "
    "but no bound is proved of what is chosen by the scores of such runs. Without seeds the composed total bounds it."
)
UNSEEDED = "Without seeds nobody can repeat the noise of a run: the bounds hold."
SCORES = (
    "Scores on held-out records reveal something of those records, which no bound protects. Nothing is proved of scores that look at "
    "training records."
)


class Price(BaseModel):
    """What a sweep costs: `new` runs begin, `going_on` were stopped and go on, `at_work` and `done` are there already.

    `seconds` of training and measuring are left, one after another, for those runs whose time is known; `unknown` are the others.
    `together` is the composed zero-out bound of all runs, `plain_sum` the sum of their own epsilons at the sum of their deltas.
    `account` is where the ledger's account of the dataset would stand. `reading` are the scores that look at training records.
    """

    model_config = ConfigDict(frozen=True)

    runs: int
    new: int
    going_on: int
    at_work: int
    done: int
    seconds: float
    unknown: int
    epsilons: tuple[float, ...]
    together: PrivacyValue
    plain_sum: float
    plain_delta: float
    dataset: str
    account: PrivacyValue
    seeded: bool
    reading: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def spends(self) -> bool:
        """Whether anything is to be spent that has not been."""
        return bool(self.new or self.going_on)

    @property
    def choosing_words(self) -> str:
        """What choosing the best of the runs costs, in words."""
        total = self.together
        if self.seeded:
            return SEEDED
        if not total.is_finite:
            return f"{UNSEEDED} No bound is proved of choosing the best of them: {total.reason}"
        most = max(self.epsilons)
        words = (
            f"What you choose by the scores of all {self.runs} runs depends on all of them. Publishing the best one costs their composed "
            f"total, epsilon {total.epsilon:.4g} at delta {total.delta:.3g} ({plain(total.neighboring_relation)}), and not its own bound "
            f"of at most {most:.4g}. {SCORES}"
        )
        if self.reading:
            words += f" Of the scores asked for, these do: {', '.join(self.reading)}."
        return words if self.runs > 1 else UNSEEDED

    @property
    def advice(self) -> str:
        """Where settings are better chosen; empty where there is no such dataset."""
        other = f"{self.dataset}-validation"
        if other not in DATASETS:
            return ""
        return f"Settings tuned on test records overfit to them: choose on {other}, and judge once on {self.dataset}."


def price(workspace: Workspace, recipe: Recipe, on: str | None = None) -> Price:
    """The price of a sweep as the registry, the ledger and the paces of this machine are now; refuses what could not be trained by the
    launcher `on`.
    """
    return price_of(workspace, recipe, startable_runs(workspace, recipe, on))


def startable_runs(workspace: Workspace, recipe: Recipe, on: str | None = None) -> list[Child]:
    """The runs of a sweep, each of which the launcher `on` could start; WorkbenchError for the first that could not."""
    from workbench import training_data
    from workbench.plan import check_trainable
    from workbench.recipes.reproducing import check

    check(recipe, workspace, on)
    child_runs = children(workspace, recipe)
    for plan in {child.setup.line.name: child.setup.plan for child in child_runs}.values():
        check_trainable(plan)
        training_data.check_public(plan, workspace)
    return child_runs


def price_of(workspace: Workspace, recipe: Recipe, child_runs: Sequence[Child]) -> Price:
    """The price of these runs."""
    kept = _measured_runs(workspace, recipe)
    states = [None if child.run is None else child.run.state for child in child_runs]
    plans = [child.setup.plan for child in child_runs]
    seconds = [_seconds(workspace, child, kept) for child in child_runs]
    return Price(
        runs=len(child_runs),
        new=states.count(None),
        going_on=sum(state in ENDED for state in states),
        at_work=sum(state in ACTIVE for state in states),
        done=states.count("done"),
        seconds=sum(one for one in seconds if one is not None),
        unknown=seconds.count(None),
        epsilons=tuple(plan.bound.epsilon for plan in plans),
        together=zero_out_total(
            [(child.setup.line.name, planned_costs(child.setup.plan)) for child in child_runs], min(plan.delta for plan in plans)
        ),
        plain_sum=math.fsum(plan.bound.epsilon for plan in plans),
        plain_delta=math.fsum(plan.delta for plan in plans),
        dataset=plans[0].facts.name,
        account=_account(workspace, child_runs),
        seeded=any(child.seed is not None for child in child_runs),
        reading=_reading(recipe),
        warnings=_warnings(workspace, child_runs),
    )


def _reading(recipe: Recipe) -> tuple[str, ...]:
    """The measures asked for that look at training records; probes do all the same, and are no measures."""
    from workbench.evaluation import METRICS

    asked = dict.fromkeys(name for line in recipe.runs if line.probe is None for name in line.metrics or ())
    return tuple(name for name in asked if "train" in METRICS[name].touches)


def _unspent(workspace: Workspace, child_runs: Sequence[Child]) -> "list[Plan]":
    """The plans of runs that the ledger does not know and that nobody has started: what is spent beyond what it counts."""
    opened = {entry.run_id for entry in Ledger(workspace.ledger).entries()}
    return [child.setup.plan for child in child_runs if child.run is None or (child.run.state in ENDED and child.run.id not in opened)]


def _account(workspace: Workspace, child_runs: Sequence[Child]) -> PrivacyValue:
    """The account's total once all runs have spent what they may."""
    setup, new = child_runs[0].setup, _unspent(workspace, child_runs)
    fingerprint = setup.dataset.fingerprint(workspace.key)
    return account_with(workspace, setup.plan, fingerprint, new)


def _warnings(workspace: Workspace, child_runs: Sequence[Child]) -> tuple[str, ...]:
    """Of the plans, of the dataset's budget, and of records that are on another account too."""
    setup, new = child_runs[0].setup, _unspent(workspace, child_runs)
    ledger, fingerprint = Ledger(workspace.ledger), setup.dataset.fingerprint(workspace.key)
    of_plans = dict.fromkeys(warning for child in child_runs for warning in child.setup.plan.warnings)
    budget = None
    if new and ledger.has_budgets():
        waiting = [(run.id, planned_costs(run.plan)) for run in runs_not_in_ledger(workspace, setup.plan, fingerprint)]
        stages = [stage for plan in new for stage in planned_costs(plan)]
        delta = min(plan.delta for plan in new)
        budget = ledger.warning_before(setup.plan.facts.name, stages, delta, fingerprint, waiting=waiting, what="this sweep")
    return tuple(filter(None, (*of_plans, budget, account_warning(workspace, setup.plan, setup.dataset))))


def _measured_runs(workspace: Workspace, recipe: Recipe) -> set[tuple[str, str]]:
    """Lines and runs whose results are kept."""
    kept = KeptSweep(workspace, identity(recipe)[:LETTERS], recipe)
    return {(result["name"], result["run"]) for result in kept.results()}


def _seconds(workspace: Workspace, child: Child, kept: Set[tuple[str, str]]) -> float | None:
    """The seconds that are left of a run and its measures; None where nobody knows how long it takes."""
    measuring = of_task(workspace, "evaluate") or 0.0
    if child.run is not None and child.run.state == "done":
        return 0.0 if (child.setup.line.name, child.run.id) in kept else measuring
    setup = child.setup
    whole = of_plan(workspace, setup.plan, setup.performance.model_dump(), setup.plan.request.place.text, setup.plan.steps)
    if whole is None:
        return None
    return whole * (1.0 - (child.run.share if child.run else 0.0)) + measuring
