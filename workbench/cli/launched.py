"""After a command has started a run or another job: it is followed, measured, and its line printed last."""

import sys

import typer

from workbench.cli.output import bar_pace
from workbench.cli.starting import say_standing
from workbench.escaping import terminal
from workbench.jobs.job import Job, Life
from workbench.serialization import dumps
from workbench.workspace import Workspace


def finish_launch(run: Life, wait: bool) -> None:
    """End a command that started a run or another job: watch it if asked, print its line last, and fail if it has failed."""
    say_standing(run)
    if wait:
        run = watch(run)
    print(dumps({"run": run.id}), flush=True)
    if run.state in ("failed", "lost"):
        print(f"{run.id} is {run.state}: {terminal(run.error)}", file=sys.stderr)
        raise typer.Exit(1)


def measure(run: Life) -> None:
    """Measure an audited run that is done, and say what was found."""
    from workbench.cli.waiting import wait_for
    from workbench.runs.audits import audit_run

    if run.state == "done":
        wait_for("audit", run.id, {})
        audit = audit_run(Workspace.default(), run.id)
        print(f"{audit.alarm or f'Lower bound: epsilon {audit.epsilon:.4g}.'} {audit.words}", file=sys.stderr)


def watch(run: Life) -> Life:
    """Follow a run, or another job, with a bar on stderr until it has ended; leaving does not end it."""
    from tqdm import tqdm

    from workbench.jobs import control
    from workbench.runs.store import RunStore

    with tqdm(total=run.steps, file=sys.stderr, unit="step", **{"mininterval": 1.0, **bar_pace()}) as bar:

        def show(now: Job) -> None:
            stage = now.stage or ("" if now.step or now.task != "train" else "before the first step")
            bar.set_description_str(f"{now.state} {stage}".strip(), refresh=False)
            if now.task == "train":
                bar.set_postfix_str(f"epsilon {RunStore(Workspace.default()).get(now.id).epsilon_spent:.3g}", refresh=False)
            bar.update(max(0, now.step - bar.n))
            if sys.stderr.isatty():
                bar.refresh()

        try:
            return control.wait(Workspace.default(), run.id, progress=show)
        except KeyboardInterrupt:
            print(f"\n{run.id} goes on; `workbench cancel {run.id}` ends it.", file=sys.stderr)
            return run
