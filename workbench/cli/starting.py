"""What is said and asked before a command starts a run, and of one that waits for its turn."""

import sys
from typing import TYPE_CHECKING

import typer

from workbench.cli.output import moment, warn
from workbench.errors import WorkbenchError
from workbench.escaping import terminal
from workbench.jobs.job import Life
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset, DatasetFacts
    from workbench.plan import Plan
    from workbench.request import Request


def seed_warning(seed: int | None) -> str | None:
    """What a seed means for what the run makes."""
    return None if seed is None else "A seeded run is repeatable and NOT releasable: whoever knows the seed can remove the noise."


def ask_again(plan: "Plan", loaded: "Dataset", yes: bool) -> None:
    """Where an equal plan has been started on the same records, ask whether to spend once more; with `yes` only say what that spends.

    Where nobody can answer, as in a script, it is refused.
    """
    from workbench.runs.again import repetition

    repeated = repetition(Workspace.default(), plan, loaded)
    if repeated is None:
        return
    if yes:
        warn([repeated.question])
    elif not sys.stdin.isatty():
        raise WorkbenchError(f"{repeated.question} Nothing was started: --yes starts another all the same.")
    elif not typer.confirm(f"{terminal(repeated.question)}\nStart another?", err=True):
        raise typer.Exit(1)


def with_epsilon(request: "Request", facts: "DatasetFacts") -> "Request":
    """The request with an epsilon: where none was given and one is calibrated to, a person at a terminal is asked for it."""
    from workbench.planning import default_epsilon

    taken = default_epsilon(request, facts) if request.epsilon is None else None
    if taken is None or not at_terminal():
        return request
    question = f"No --epsilon was given. Epsilon to spend on {terminal(facts.name)}"
    return request.edited(epsilon=typer.prompt(question, default=taken, type=float, err=True))


def at_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def spends(plan: "Plan") -> str:
    """What a run of a plan whose epsilon nobody named may spend."""
    bound, wanted = plan.bound, plan.target_epsilon
    named = f"{wanted:g} was answered" if wanted is not None else "what follows is taken"
    reason = "" if bound.is_finite else f" {bound.reason}"
    spent = f"epsilon {bound.epsilon:.4g} at delta {bound.delta:.3g} on {plan.facts.name}"
    return f"No --epsilon was given; {named}: the run spends {spent}.{reason}"


def say_standing(job: Life) -> None:
    """Where a job waits in the queue, on stderr: its place, why, and when it is expected to start; nothing of one that does not wait."""
    from workbench.jobs.queue.line import line
    from workbench.runs.lengths import lengths

    if job.state != "queued":
        return
    workspace = Workspace.default()
    entry = line(workspace, lengths(workspace)).entry(job.id)
    if entry is not None and entry.place:
        starts = moment(entry.expected.starts)
        when = f"It is expected to start at {starts}; " if starts else ""
        print(f"{job.id} is at place {entry.place} of the queue: {entry.reason}. {when}`workbench queue` lists all.", file=sys.stderr)
