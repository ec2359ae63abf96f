"""What a run's samples show of its records against the decay, the numbers of samples and records, and the release step; private."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from workbench.diffusion.discrete import DISCRETE_SCHEDULES
from workbench.errors import choose
from workbench.files import write_text_atomically
from workbench.methods import METHODS
from workbench.methods.fields import with_values
from workbench.methods.protocols import PerInstanceValues
from workbench.privacy.not_dp.per_instance import Leakage, kappa_j
from workbench.runs.exposure import DEFAULT_DRAWS, checked_run, expose_run
from workbench.runs.finished import read_results
from workbench.runs.folder import RunFolder
from workbench.runs.samples.sets import ProgressFunction, progress_within
from workbench.runs.threads import few_threads
from workbench.runs.trained import dataset_of, load_state
from workbench.serialization import dumps
from workbench.workspace import Workspace

Over = Literal["decay", "samples", "release", "records"]
OVER: dict[str, Over] = {name: name for name in get_args(Over)}
SAMPLES = (1, 10, 100, 1_000, 10_000)
RELEASES = 8  # release steps that are told, evenly over all
HALVINGS, FEWEST = 5, 8  # numbers of records: all, a half, a quarter and so on, and no fewer than this


def leakage_over(
    workspace: Workspace,
    run_id: str,
    over: Over,
    epsilon: float = 1.0,
    num_samples: int = 1,
    num_draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    progress: ProgressFunction | None = None,
) -> list[dict[str, Any]]:
    """A row a schedule, a number of samples, a release step or a number of records: median and largest delta over them, and median J.

    The schedules are all that there are, with the run's number of steps; each takes the draws of a whole view of the records, and so
    does each number of records: nested parts of the table, drawn by `seed`, all told of the records of the smallest one.
    """
    ways: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "decay": lambda: _over_decay(workspace, run_id, epsilon, num_samples, num_draws, seed, progress),
        "samples": lambda: _over_samples(expose_run(workspace, run_id, num_draws, seed, progress).leakage, epsilon),
        "release": lambda: _over_release(expose_run(workspace, run_id, num_draws, seed, progress).leakage, epsilon, num_samples),
        "records": lambda: _over_records(workspace, run_id, epsilon, num_samples, num_draws, seed, progress),
    }
    return choose(over, ways, "way to vary")()


def leakage_run(
    workspace: Workspace,
    run_id: str,
    over: Over,
    epsilon: float = 1.0,
    num_samples: int = 1,
    num_draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    progress: ProgressFunction | None = None,
) -> list[dict[str, Any]]:
    """`leakage_over`, kept in the run's folder; private."""
    if (kept := kept_leakage(workspace, run_id, over, epsilon, num_samples, num_draws, seed)) is not None:
        return kept
    rows = leakage_over(workspace, run_id, over, epsilon, num_samples, num_draws, seed, progress)
    write_text_atomically(_file(workspace, run_id, over, epsilon, num_samples, num_draws, seed), dumps(rows, indent=2))
    return rows


def kept_leakage(
    workspace: Workspace, run_id: str, over: Over, epsilon: float, num_samples: int, num_draws: int, seed: int
) -> list[dict[str, Any]] | None:
    """What is kept of `leakage_run`, or None."""
    path = _file(workspace, run_id, over, epsilon, num_samples, num_draws, seed)
    return read_results(path) if path.exists() else None


def _file(workspace: Workspace, run_id: str, over: Over, epsilon: float, num_samples: int, num_draws: int, seed: int) -> Path:
    return RunFolder(workspace, run_id).path / f"leakage-over-{over}-{epsilon!r}-{num_samples}-{num_draws}-{seed}.json"


def _over_decay(
    workspace: Workspace, run_id: str, epsilon: float, num_samples: int, num_draws: int, seed: int, progress: ProgressFunction | None
) -> list[dict[str, Any]]:
    run, method = checked_run(workspace, run_id)
    count = len(DISCRETE_SCHEDULES)
    seen, rows = run.plan.build().seen(load_state(workspace, run), dataset_of(workspace, run).train), []
    for number, schedule in enumerate(DISCRETE_SCHEDULES):
        other = METHODS[run.method](with_values(run.plan.build().config, {"diffusion.schedule": schedule}))
        assert isinstance(other, PerInstanceValues), method
        with few_threads():
            leakage = other.per_instance(*seen, num_draws, seed, progress_within(progress, number / count, (number + 1) / count))
        rows.append({"schedule": schedule, **leakage_summary(leakage.total, epsilon, num_samples)})
    return rows


def _over_records(
    workspace: Workspace, run_id: str, epsilon: float, num_samples: int, num_draws: int, seed: int, progress: ProgressFunction | None
) -> list[dict[str, Any]]:
    """Also the largest J, and J of a release after the first step: Wei et al. have them fall by 1/s and by 1/s^2."""
    run, method = checked_run(workspace, run_id)
    facts, data = run.plan.build().seen(load_state(workspace, run), dataset_of(workspace, run).train)
    order, rows = np.random.default_rng(seed).permutation(len(data)), []
    sizes = numbers_of_records(len(data))
    for number, size in enumerate(sizes):
        part = facts.model_copy(update={"num_records": size})
        with few_threads():
            whole = progress_within(progress, number / len(sizes), (number + 1) / len(sizes))
            leakage = method.per_instance(part, data.take(order[:size]), num_draws, seed, whole)
        rows.append(
            {
                "records": size,
                **leakage_summary(leakage.total[: sizes[-1]], epsilon, num_samples),
                "largest J": float(leakage.total[: sizes[-1]].max()),
                "median J of the first step": float(np.median(leakage.first[: sizes[-1]])),
            }
        )
    return rows


def numbers_of_records(whole: int) -> list[int]:
    """All, and half as many each time while there are enough."""
    return [whole, *(whole // 2**halving for halving in range(1, HALVINGS) if whole // 2**halving >= FEWEST)]


def _over_samples(leakage: Leakage, epsilon: float) -> list[dict[str, Any]]:
    return [{"samples": count, **leakage_summary(leakage.total, epsilon, count)} for count in SAMPLES]


def _over_release(leakage: Leakage, epsilon: float, num_samples: int) -> list[dict[str, Any]]:
    whole = leakage.by_release_step()  # (steps, N), the latest release last
    places = np.unique(np.linspace(0, len(whole) - 1, RELEASES).round().astype(np.int64))[::-1]
    return [{"release step": int(leakage.timesteps[place]) - 1, **leakage_summary(whole[place], epsilon, num_samples)} for place in places]


def leakage_summary(total: np.ndarray, epsilon: float, num_samples: int) -> dict[str, Any]:
    """The median and the largest delta, how many records have one of 1, and the median J, of J (N,)."""
    delta = np.minimum(1.0, kappa_j(epsilon) * num_samples * total)
    return {
        "median delta": float(np.median(delta)),
        "largest delta": float(delta.max()),
        "vacuous": int((delta >= 1).sum()),
        "median J": float(np.median(total)),
    }
