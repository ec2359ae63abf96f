"""A home as a whole: what is in it, how it is emptied, and how it is closed to writing."""

import os
import shutil
from dataclasses import dataclass

from workbench.errors import WorkbenchError
from workbench.files import READ_ONLY, check_writable, make_private_file
from workbench.jobs.away.sending import retire
from workbench.jobs.job import ID
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue.passing import LOCK
from workbench.locks import take
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.housekeeping import size_of
from workbench.runs.store import RunStore
from workbench.workspace import FOLDERS, KEY, Workspace

KEPT_OPEN = "app"  # where open pages tell their address
DATABASES = ("runs.sqlite", "verdicts.sqlite")
SPENDING = ("ledger.sqlite", KEY)  # fingerprints in the ledger are by this key


@dataclass(frozen=True)
class Contents:
    """What is in a home: how many runs, active jobs, imports and sweeps, its bytes, and how many runs have spent on each account."""

    runs: int
    active: int
    imports: int
    sweeps: int
    size: int
    spent: dict[str, int]

    @property
    def words(self) -> str:
        """What a reset removes, in a sentence."""
        parts = {"runs with their weights and samples": self.runs, "imports": self.imports, "sweeps": self.sweeps}
        named = ", ".join(f"{number} {what}" for what, number in parts.items() if number)
        return f"This home has {named or 'no run'}, besides verdicts, logs and what can be computed again."

    @property
    def spending_words(self) -> str:
        """What the ledger knows, in a sentence; empty where nothing was spent."""
        if not self.spent:
            return ""
        return "The ledger knows of " + ", ".join(f"{number} runs on {account!r}" for account, number in self.spent.items()) + "."


def contents(workspace: Workspace) -> Contents:
    """What is in a home."""
    waiting, working = Jobs(workspace).active()
    spent: dict[str, int] = {}
    for entry in Ledger(workspace.ledger).entries() if workspace.ledger.exists() else ():
        if entry.paid_stages():
            spent[entry.account] = spent.get(entry.account, 0) + 1
    active = len(waiting) + len(working) + len(Jobs(workspace).paused_jobs())
    imports, sweeps = (sum(1 for _ in folder.iterdir()) if folder.exists() else 0 for folder in (workspace.imports, workspace.sweeps))
    return Contents(len(RunStore(workspace).list()), active, imports, sweeps, size_of(workspace.home), spent)


def reset(workspace: Workspace, with_ledger: bool = False, forget_spending: bool = False) -> None:
    """Empty a home; noise keys are overwritten first. What was spent stays in the ledger, unless `with_ledger`.

    Downloaded datasets stay. Raises WorkbenchError, and removes nothing, while something is at work or waits, in a home that is
    read-only, and where the ledger knows of spending that nobody said to forget: of the same records more could be spent unseen.
    """
    check_writable(workspace.home)
    content = contents(workspace)
    if with_ledger and content.spent and not forget_spending:
        raise WorkbenchError(
            f"{content.spending_words} Without it these records could be spent again unseen. "
            "Keep the ledger, or say that it is to be forgotten."
        )
    lock = take(workspace.home / LOCK)
    if lock is None or content.active:
        raise WorkbenchError("Expected a home in which nothing is at work and nothing waits. `workbench queue cancel --all` stops it all.")
    try:
        _remove(workspace, with_ledger)
    finally:
        os.close(lock)


def _remove(workspace: Workspace, with_ledger: bool) -> None:
    for run in RunStore(workspace).list():
        retire(workspace, run.id)
    for folder in workspace.runs.iterdir() if workspace.runs.exists() else ():
        if ID.fullmatch(folder.name):
            RunFolder(workspace, folder.name).remove()
    names = (*DATABASES, *(SPENDING if with_ledger else ()))
    for name in names:
        for path in workspace.home.glob(f"{name}*"):
            path.unlink(missing_ok=True)
    for name in FOLDERS - {KEPT_OPEN}:
        shutil.rmtree(workspace.home / name, ignore_errors=True)


def set_read_only(workspace: Workspace, closed: bool) -> None:
    """Mark a home as one in which nothing is written, such as a demonstration for a class, or take the mark away."""
    mark = workspace.home / READ_ONLY
    if not closed:
        mark.unlink(missing_ok=True)
        return
    if contents(workspace).active:
        raise WorkbenchError("Expected a home in which nothing is at work and nothing waits. `workbench queue cancel --all` stops it all.")
    make_private_file(mark)
