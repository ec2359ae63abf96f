"""What is believed of the releases, after Morris 1983: as much as the prior's width says, and that is what makes them likeliest.

The classes' differences from their public means are taken to be normal of covariance a S + b I, S the public covariance and a, b
of the greatest marginal likelihood; the covariance within classes moves from S as far as a James-Stein factor lets it.
Post-processing of the three releases and of public images.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2

from workbench.methods.class_moments import SECOND_MOMENT, ClassMomentsConfig
from workbench.methods.class_moments.releases import deviation_of_second_moment, deviation_of_sums
from workbench.methods.class_moments.sampling import counts_of, within
from workbench.methods.class_moments.stages import numbers
from workbench.methods.prior_moments import prior
from workbench.training.state import State

LEAST_WIDTH = 1e-12  # of a prior's variance: its logarithm is what is searched for
SURE = 0.975
STARTS = (1e-4, 1e-1, 1e1)  # of both widths, over the public variance


def gaussians(config: ClassMomentsConfig, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Means (classes, D) and covariance (D, D) of the posterior."""
    public_means, public_covariance = prior.gaussians(state)
    counts, norm = counts_of(state), float(state.tensors["norm"])
    noise = (deviation_of_sums(config, norm) / counts[:, None]) ** 2
    found = state.tensors["sums"].cpu().numpy() / counts[:, None]
    shifts = believed(found, noise, public_covariance)
    count = numbers(config, state.facts, SECOND_MOMENT)
    deviation = deviation_of_second_moment(config, norm, count) / state.facts.num_records
    change = within(state, shifts, counts) - public_covariance
    return public_means + shifts, public_covariance + shrinkage(change, deviation, count) * change


def believed(found: np.ndarray, noise: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """The posterior mean (classes, D) of differences found with noise of variance (classes, 1), by a prior along the covariance."""
    variances, directions = np.linalg.eigh(covariance)
    variances, turned = np.maximum(variances, 0.0), found @ directions
    along, alike = likeliest(turned, noise, variances)
    width = along * variances + alike
    return (turned * (width / (width + noise))) @ directions.T


def likeliest(found: np.ndarray, noise: np.ndarray, variances: np.ndarray) -> tuple[float, float]:
    """a and b of the prior N(0, a variances + b) that make `found` (classes, D), with noise on it, likeliest."""
    scale = max(float(variances.mean()), LEAST_WIDTH)
    squares = found**2

    def surprise(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        along, alike = np.exp(logarithms)
        total = along * variances + alike * scale + noise
        slope = (1.0 - squares / total) / total
        return float((np.log(total) + squares / total).sum()), np.array([along * (slope * variances).sum(), alike * scale * slope.sum()])

    starts = [np.log([along, alike]) for along in STARTS for alike in STARTS]
    bounds = [(np.log(LEAST_WIDTH), np.log(1e6))] * 2
    found_all = [minimize(surprise, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    along, alike = np.exp(min(found_all, key=lambda one: one.fun).x)
    return float(along), float(alike * scale)


def shrinkage(change: np.ndarray, deviation: float, count: int) -> float:
    """How much of a change is believed whose `count` numbers have noise of this deviation: at least 0 (James and Stein 1961).

    1 less the squared norm that noise alone stays below in 39 of 40 cases, over the change's own.
    """
    noise, found = deviation**2 * float(chi2.ppf(SURE, count)), float((change**2).sum())
    return 1.0 - noise / found if found > noise else 0.0
