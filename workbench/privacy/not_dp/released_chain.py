"""Values per record of a released chain: exact where the table is small, else by Monte Carlo with standard errors."""

from collections.abc import Callable

import numpy as np

from workbench.privacy.not_dp.discrete_chain import Array, DiscreteChain
from workbench.privacy.not_dp.per_instance import Leakage, monte_carlo_leakage
from workbench.privacy.not_dp.per_instance_exact import MAX_STATES, exact_leakage

MOST_WORK = 1e10  # numbers made in the exact way: some tens of seconds
OF_SCORES = 20  # such numbers for each record whose score is weighed anew


def is_small(records: Array, categories: Array, steps: int) -> bool:
    """Whether every value that a record can take is looked at."""
    states = float(np.prod(categories.astype(np.float64)))
    each = states * (states + OF_SCORES * len(records))  # of a step without one record
    return states <= MAX_STATES and each * steps * len(np.unique(records, axis=0)) <= MOST_WORK


def chain_leakage(
    records: Array,
    categories: Array,
    alphas_cumprod: Array,
    *,
    num_draws: int,
    seed: int = 0,
    release_step: int = 0,
    smoothing: float = 1e-3,
    progress: Callable[[float], None] | None = None,
) -> Leakage:
    """J of every record: exactly, with no draws, or by `num_draws` chains; the arguments are those of `monte_carlo_leakage`."""
    steps = np.arange(len(alphas_cumprod) - 1, release_step, -1)
    if not is_small(records, categories, len(steps)):
        chances = {"num_draws": num_draws, "seed": seed, "release_step": release_step, "smoothing": smoothing}
        return monte_carlo_leakage(records, categories, alphas_cumprod, **chances, progress=progress)
    per_step = exact_leakage(DiscreteChain.of(records, categories, alphas_cumprod, smoothing), release_step).divergence.T
    if progress is not None:
        progress(1.0)
    none = np.zeros(per_step.shape[1])
    return Leakage(steps, per_step, per_step.sum(axis=0), none, none, 0, "chain", smoothing)
