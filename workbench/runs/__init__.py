"""Step 3: a run is a folder and a row of the registry, made by the job that trains it; here is what is made of it and what it may release.

What a run is (`run`), where it lies (`folder`, `store`), how it begins (`launching`), the attempt at it (`fitting`), its samples
(`samples/`), what is measured of them (`finished`, `audits`, `memberships`, ...), what leaves the room (`release/`).
"""

from workbench.runs.early import end_early
from workbench.runs.launching import (
    account_warning,
    begin,
    budget_warning,
    clone,
    cloned_plan,
    dataset_of_plan,
    delete,
    launch,
    register,
    resume,
    wait,
)

__all__ = [
    "account_warning",
    "begin",
    "budget_warning",
    "clone",
    "cloned_plan",
    "dataset_of_plan",
    "delete",
    "end_early",
    "launch",
    "register",
    "resume",
    "wait",
]
