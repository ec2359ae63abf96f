"""A distribution from noisy marginals: the one of largest entropy among those that fit them (McKenna, Sheldon and Miklau 2019).

What is least is sum_r |p_r - y_r|^2 / (2 ridge_r) - entropy(p), p_r the model's shares of set r and y_r the noisy ones, whose noise has
the deviation d_r. Its least is a log-linear model with a potential theta_r for each set, and the potentials are the least of the dual
    log Z(theta) - sum_r theta_r y_r + sum_r ridge_r |theta_r|^2 / 2,
which is smooth, strictly convex, and has the gradient p_r - y_r + ridge_r theta_r: one belief propagation a step. The ridge is
PULL d_r^2 / min d: where the noise is least, the model's shares are off the noisy ones by a quarter of the noise for each unit of a
potential. The paper goes to the same least without a ridge by mirror descent and stops on its way, where noise is not fitted yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy.optimize import minimize

from workbench.models.graphical.beliefs import Beliefs, Structure
from workbench.models.graphical.junction_tree import Columns

PULL = 0.25
MEMORY = 30  # steps that L-BFGS remembers
TOLERANCE, LAST_TOLERANCE = 0.1, 0.01  # of the gradient, in deviations of the least noise
STEPS, LAST_STEPS = 500, 3_000  # at most

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class Measurement:
    """A noisy marginal: `shares` float64 (cells of the columns,) with noise of `deviation` in each."""

    columns: Columns
    shares: Floats
    deviation: float


def joined_measurements(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those of the same columns as one, by their weights, in the order of their first."""
    by_columns: dict[Columns, Measurement] = {}
    for one in measurements:
        before = by_columns.get(one.columns)
        if before is not None:
            weights = np.array([before.deviation**-2, one.deviation**-2])
            shares = (weights[0] * before.shares + weights[1] * one.shares) / weights.sum()
            by_columns[one.columns] = Measurement(one.columns, shares, float(weights.sum() ** -0.5))
        else:
            by_columns[one.columns] = one
    return list(by_columns.values())


def estimated_potentials(structure: Structure, measurements: Sequence[Measurement], start: torch.Tensor, last: bool = True) -> torch.Tensor:
    """Potentials float64 (cells of all sets,), from `start` on, by a measurement for each of the sets, in order.

    No share of the model is off the least by more than a part of the noise that a later estimate makes up for, if it is not the `last`.
    """
    least = min(one.deviation for one in measurements)
    shares = np.concatenate([one.shares.ravel() for one in measurements])
    ridge = np.concatenate([np.full(one.shares.size, PULL * one.deviation**2 / least) for one in measurements])
    most = LAST_STEPS if last else STEPS
    options = {"maxiter": most, "maxfun": 2 * most, "maxcor": MEMORY, "ftol": 0.0, "gtol": least * (LAST_TOLERANCE if last else TOLERANCE)}
    optimum = minimize(partial(dual, structure, shares, ridge), start.cpu().numpy(), jac=True, method="L-BFGS-B", options=options)
    return torch.from_numpy(optimum.x).to(start.device)


def dual(structure: Structure, shares: Floats, ridge: Floats, potentials: Floats) -> tuple[float, Floats]:
    """What the potentials are the least of, and its gradient."""
    beliefs = Beliefs.of(structure, torch.from_numpy(potentials))
    marginals = torch.cat([table.flatten() for table in beliefs.sets]).numpy()
    value = beliefs.log_normaliser - potentials @ shares + 0.5 * (ridge * potentials) @ potentials
    return float(value), marginals - shares + ridge * potentials
