"""What a run's samples show of its records against the decay of the noise, the number of samples and the release step; private."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from workbench.diffusion.discrete import DISCRETE_SCHEDULES
from workbench.errors import choose
from workbench.jobs.exposure import DEFAULT_DRAWS, checked, expose_run
from workbench.jobs.samples.sets import ProgressFunction, progress_within
from workbench.jobs.threads import few_threads
from workbench.jobs.trained import dataset_of, load_state
from workbench.methods import METHODS
from workbench.methods.fields import with_values
from workbench.methods.protocols import PerInstanceValues
from workbench.privacy.not_dp.per_instance import Leakage, kappa_j
from workbench.workspace import Workspace

Over = Literal["decay", "samples", "release"]
OVER: dict[str, Over] = {name: name for name in get_args(Over)}
SAMPLES = (1, 10, 100, 1_000, 10_000)
RELEASES = 8  # release steps that are told, evenly over all


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
    """A row a schedule, a number of samples or a release step: the median and the largest delta over the records, and J's median.

    The schedules are all that there are, with the run's number of steps; each takes the draws of a whole view of the records.
    """
    ways: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "decay": lambda: _over_decay(workspace, run_id, epsilon, num_samples, num_draws, seed, progress),
        "samples": lambda: _over_samples(expose_run(workspace, run_id, num_draws, seed, progress).leakage, epsilon),
        "release": lambda: _over_release(expose_run(workspace, run_id, num_draws, seed, progress).leakage, epsilon, num_samples),
    }
    return choose(over, ways, "way to vary")()


def _over_decay(
    workspace: Workspace, run_id: str, epsilon: float, num_samples: int, num_draws: int, seed: int, progress: ProgressFunction | None
) -> list[dict[str, Any]]:
    run, method = checked(workspace, run_id)
    count = len(DISCRETE_SCHEDULES)
    seen, rows = run.plan.build().seen(load_state(workspace, run), dataset_of(workspace, run).train), []
    for number, schedule in enumerate(DISCRETE_SCHEDULES):
        other = METHODS[run.method](with_values(run.plan.build().config, {"diffusion.schedule": schedule}))
        assert isinstance(other, PerInstanceValues), method
        with few_threads():
            found = other.per_instance(*seen, num_draws, seed, progress_within(progress, number / count, (number + 1) / count))
        rows.append({"schedule": schedule, **told(found.total, epsilon, num_samples)})
    return rows


def _over_samples(leakage: Leakage, epsilon: float) -> list[dict[str, Any]]:
    return [{"samples": count, **told(leakage.total, epsilon, count)} for count in SAMPLES]


def _over_release(leakage: Leakage, epsilon: float, num_samples: int) -> list[dict[str, Any]]:
    whole = leakage.by_release_step()  # (steps, N), the latest release last
    places = np.unique(np.linspace(0, len(whole) - 1, RELEASES).round().astype(np.int64))[::-1]
    return [{"release step": int(leakage.timesteps[place]) - 1, **told(whole[place], epsilon, num_samples)} for place in places]


def told(total: np.ndarray, epsilon: float, num_samples: int) -> dict[str, Any]:
    """The median and the largest delta, how many records have one of 1, and the median J, of J (N,)."""
    delta = np.minimum(1.0, kappa_j(epsilon) * num_samples * total)
    return {
        "median delta": float(np.median(delta)),
        "largest delta": float(delta.max()),
        "vacuous": int((delta >= 1).sum()),
        "median J": float(np.median(total)),
    }
