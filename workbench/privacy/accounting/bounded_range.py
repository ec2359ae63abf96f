"""The privacy profile of what has a bounded range: a loss that lies in an interval of known length, wherever the interval is."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def bounded_range_delta(range_: float, epsilon: Floats) -> Floats:
    """The largest delta at each `epsilon`, of either sign, that a mechanism of this range > 0 can have.

    With losses in [t - r, t] the worst has these two alone: delta_t(eps) = (e^-t - e^-r)(e^t - e^eps)/(1 - e^-r) between them. That
    is largest at t = (eps + r)/2, where it is (1 - e^((eps - r)/2))^2 / (1 - e^-r). As the largest of profiles it is one that
    dominates all of them, so it composes, adaptively too.
    Source: Dong, Durfee and Rogers (2020); Zhu, Dong and Wang (2022) for dominating profiles.
    """
    inside = np.expm1((np.clip(epsilon, -range_, range_) - range_) / 2) ** 2 / -np.expm1(-range_)
    return np.where(epsilon >= range_, 0.0, np.where(epsilon <= -range_, -np.expm1(np.minimum(epsilon, 0.0)), inside))
