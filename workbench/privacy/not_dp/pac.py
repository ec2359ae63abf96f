"""PAC privacy: Gaussian noise that bounds the mutual information between data and output, and what that bound means.

The data X are random here, drawn from a known pool; nothing is said about a worst case and no epsilon follows.
Source: Xiao and Devadas (2023); the variants printed in P3DM (2024), Algorithm 3, are marked as printed.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.errors import WorkbenchError

Variant = Literal["corrected", "printed"]
Form = Literal["anisotropic", "isotropic"]

NOT_REDRAWN = (
    "X was not redrawn: the outputs are samples of one trained model, so this measures the sampler's spread and bounds no mutual "
    "information with the training data."
)
PRINTED = "As printed in P3DM, Algorithm 3, whose text differs from Xiao and Devadas: no bound on mutual information follows."
NO_CONFIDENCE = (
    "c = 0: the covariance is taken as known, and noise may be 0 where these outputs agree. In the limit of many outputs the bound holds; "
    "of as many as there are it does not follow."
)
CONDITIONAL = "Conditional: the constant kappa in c is not specified in the literature."
OBSERVED_RADIUS = "Conditional: the radius is the largest norm seen, not a bound that every output obeys."
NO_GAP = "The anisotropic form was asked for although the eigenvalues are too close for its proof: no bound follows."


@dataclass(frozen=True)
class PacNoise:
    """Gaussian noise B for outputs of `dimensions` values, with MI(X; M(X) + B) <= `mutual_information` in nats where `labels` allow.

    `directions` (d, r) are orthonormal, with the outputs' variances `signal_variances` (r,) and the noise's `noise_variances`
    (r,); every direction orthogonal to them has noise variance `rest_variance`. `labels` say what the bound is conditional on.
    """

    dimensions: int
    directions: np.ndarray
    signal_variances: np.ndarray
    noise_variances: np.ndarray
    rest_variance: float
    mutual_information: float
    confidence: float
    c: float
    variant: Variant
    form: Form
    labels: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the bound follows from these outputs, possibly under the conditions that `labels` state; never with c = 0."""
        return not {NOT_REDRAWN, PRINTED, NO_GAP, NO_CONFIDENCE} & set(self.labels)

    @property
    def variances(self) -> np.ndarray:
        """Noise variance along all d axes, those of `directions` first: (d,)."""
        rest = np.full(self.dimensions - len(self.noise_variances), self.rest_variance)
        return np.concatenate([self.noise_variances, rest])

    @property
    def mean_norm(self) -> float:
        """E ||B||_2, the number of P3DM's Table 2."""
        return mean_gaussian_norm(self.variances)

    def covariance(self) -> np.ndarray:
        """The covariance of B: (d, d)."""
        projected = (self.directions * (self.noise_variances - self.rest_variance)) @ self.directions.T
        return projected + self.rest_variance * np.eye(self.dimensions)

    def sample(self, num_samples: int, generator: np.random.Generator) -> np.ndarray:
        """Draws of B: (num_samples, d) float64."""
        rest = generator.standard_normal((num_samples, self.dimensions)) * math.sqrt(self.rest_variance)
        inside = generator.standard_normal((num_samples, len(self.noise_variances))) * np.sqrt(self.noise_variances)
        return rest - (rest @ self.directions) @ self.directions.T + inside @ self.directions.T


def deterministic_noise(
    outputs: np.ndarray,
    *,
    v: float = 0.5,
    beta: float = 0.5,
    gamma: float = 0.01,
    kappa: float = 1.0,
    c: float | None = None,
    radius: float | None = None,
    variant: Variant = "corrected",
    form: Form | None = None,
    redrawn: bool = True,
) -> PacNoise:
    """The noise for a deterministic M, from outputs y_k = M(X_k) with X_k drawn afresh for each: MI <= v + beta nats.

    `outputs` (m, d). They are rescaled by `radius` (a bound on their norm; the largest norm seen by default) to r = 1 and the
    noise scaled back; `c` is in those units and comes from `confidence_parameter(m, d, gamma, kappa)` unless given.
    `variant` "printed" is P3DM's text: it lacks the inverse and compares an eigenvalue with itself, a gap never above the printed
    threshold, so that it always takes its isotropic branch; `form` forces a branch. `redrawn` False marks outputs of one model.
    Source: Xiao and Devadas (2023), Algorithm 1, corrected.
    """
    outputs = _check_outputs(outputs, 2)
    _check_positive(v=v, beta=beta)
    num_outputs, dimensions = outputs.shape
    scale, level = _radius(outputs, radius), confidence_parameter(num_outputs, dimensions, gamma, kappa) if c is None else c
    if level < 0:
        raise WorkbenchError(f"Expected c >= 0, got {level}.")
    directions, spectrum = principal_variances(outputs / scale)
    gap = has_gap(spectrum, dimensions, level)
    taken: Form = form or ("anisotropic" if gap and variant == "corrected" else "isotropic")
    noise, rest = _noise_variances(spectrum, dimensions, v, beta, level, variant, taken)
    conditions = {
        NOT_REDRAWN: not redrawn,
        PRINTED: variant == "printed",
        NO_GAP: variant == "corrected" and taken == "anisotropic" and not gap,
        NO_CONFIDENCE: level == 0,
        CONDITIONAL: c is None,
        OBSERVED_RADIUS: radius is None,
    }
    labels = tuple(label for label, applies in conditions.items() if applies)
    unit = scale**2
    return PacNoise(dimensions, directions, spectrum * unit, noise * unit, rest * unit, v + beta, 1 - gamma, level, variant, taken, labels)


def randomised_noise(
    first: np.ndarray, second: np.ndarray, *, v: float = 1.0, gamma: float = 0.01, radius: float | None = None, redrawn: bool = True
) -> PacNoise:
    """The noise for a randomised M: MI <= v nats with confidence 1 - gamma.

    `first`, `second` (m, tau, d): M(X_1, theta_i) and M(X_2, theta_i), i = 1..tau, for m fresh pairs X_1, X_2 and the same seeds.
    psi_k is the smallest mean squared distance over all matchings; Sigma_B = ((mean psi + c) / (2 v)) I with
    c = 4 r^2 sqrt(log(1/gamma) / (2 m)), Hoeffding's bound for psi in [0, 4 r^2] where `radius` r bounds every output's norm.
    """
    first, second = _check_outputs(first, 3), _check_outputs(second, 3)
    if first.shape != second.shape:
        raise WorkbenchError(f"Expected two arrays of one shape (pairs, seeds, dimensions), got {first.shape} and {second.shape}.")
    _check_positive(v=v)
    num_pairs, _, dimensions = first.shape
    scale = _radius(np.concatenate([first, second]), radius)
    c = 4 * scale**2 * math.sqrt(math.log(1 / _check_gamma(gamma)) / (2 * num_pairs))
    variance = float(np.mean(matched_distances(first, second)) + c) / (2 * v)
    labels = [label for label, applies in {NOT_REDRAWN: not redrawn, OBSERVED_RADIUS: radius is None}.items() if applies]
    directions, spectrum = principal_variances(first.reshape(-1, dimensions))
    noise = np.full(len(spectrum), variance)
    return PacNoise(dimensions, directions, spectrum, noise, variance, v, 1 - gamma, c, "corrected", "isotropic", tuple(labels))


def matched_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Mean squared distance of the best matching of each pair of output sets: (m, tau, d) twice -> (m,)."""
    from scipy.optimize import linear_sum_assignment

    values = []
    for left, right in zip(first, second, strict=True):
        distances = ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2)  # (tau, tau)
        values.append(distances[linear_sum_assignment(distances)].mean())
    return np.array(values)


def confidence_parameter(num_outputs: int, dimensions: int, gamma: float, kappa: float = 1.0) -> float:
    """c for outputs of norm at most 1: kappa (max{sqrt a, a} + sqrt(d log(4/gamma)/m)), a = (d + log(4/gamma))/m.

    kappa is not specified in the literature, so whatever rests on this c is conditional.
    """
    log_term = math.log(4 / _check_gamma(gamma))
    a = (dimensions + log_term) / num_outputs
    return kappa * (max(math.sqrt(a), a) + math.sqrt(dimensions * log_term / num_outputs))


def principal_variances(outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions (d, r) and variances (r,) of the empirical covariance (division by m), largest first, r at most min(m - 1, d)."""
    centred = outputs - outputs.mean(axis=0)
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    variances = singular**2 / len(outputs)
    kept = variances > variances.max(initial=0.0) * len(outputs) * np.finfo(np.float64).eps
    return directions[kept].T, variances[kept]


def has_gap(spectrum: np.ndarray, dimensions: int, c: float) -> bool:
    """Whether every eigenvalue above c is further than sqrt(d c) + 2 c (r = 1) from all others, zeros included."""
    padded = np.append(spectrum, 0.0) if len(spectrum) < dimensions else spectrum
    large = int((padded > c).sum())
    if large == 0:
        return False
    gaps = -np.diff(padded)[:large]  # sorted, so the nearest other eigenvalue is a neighbour
    return bool(len(gaps) == 0 or gaps.min() > math.sqrt(dimensions * c) + 2 * c)


def _noise_variances(
    spectrum: np.ndarray, dimensions: int, v: float, beta: float, c: float, variant: Variant, form: Form
) -> tuple[np.ndarray, float]:
    """Noise variances along the spectrum's directions, and along all others, for outputs of norm at most 1."""
    if form == "isotropic":
        total = float(spectrum.sum())
        variance = (total + dimensions * c) / (2 * v) if variant == "corrected" else total + dimensions * c / (2 * v)
        return np.full(len(spectrum), variance), variance
    roots, rest = np.sqrt(spectrum + 10 * c * v / beta), math.sqrt(10 * c * v / beta)
    total = float(roots.sum()) + (dimensions - len(spectrum)) * rest
    if variant == "corrected":
        return roots * total / (2 * v), rest * total / (2 * v)
    return 2 * v / (roots * total), 2 * v / (rest * total) if rest > 0 else math.inf


def mean_gaussian_norm(variances: np.ndarray) -> float:
    """E ||B|| of independent centred Gaussians: an integral over the characteristic product, relative error below 1e-9.

    E sqrt(Q) = 1/(2 sqrt pi) int_0^inf (1 - E e^{-tQ}) t^{-3/2} dt with Q = ||B||^2, t = e^u by the trapezoid rule.
    """
    total = float(np.sum(variances))
    if total == 0 or math.isinf(total):
        return total
    weights, counts = np.unique(variances / total, return_counts=True)
    u = np.arange(-60.0, 60.0, 0.05)
    log_transform = -0.5 * (counts * np.log1p(2 * np.exp(u)[:, None] * weights)).sum(axis=1)
    integral = (-np.expm1(log_transform) * np.exp(-u / 2)).sum() * 0.05
    return math.sqrt(total) * float(integral) / (2 * math.sqrt(math.pi))


def success_probability(mutual_information: float, prior: float) -> float:
    """p*: the best chance of any adversary who guessed right with chance `prior` before the release.

    The largest p >= prior with p ln(p/prior) + (1-p) ln((1-p)/(1-prior)) <= MI; 1 if -ln prior <= MI (nats). MI of 1 says nothing
    about a balanced binary attribute.
    """
    if not 0.0 < prior < 1.0 or not mutual_information >= 0:
        raise WorkbenchError(f"Expected a prior in (0, 1) and a mutual information >= 0, got {prior} and {mutual_information}.")
    if -math.log(prior) <= mutual_information:
        return 1.0
    low, high = prior, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _binary_divergence(middle, prior) <= mutual_information else (low, middle)
    return low


def _binary_divergence(p: float, prior: float) -> float:
    rest = (1 - p) * math.log((1 - p) / (1 - prior)) if p < 1 else 0.0
    return p * math.log(p / prior) + rest


def _check_outputs(outputs: np.ndarray, dimensions: int) -> np.ndarray:
    outputs = np.asarray(outputs, dtype=np.float64)
    if outputs.ndim != dimensions or len(outputs) < 2 or not np.isfinite(outputs).all():
        raise WorkbenchError(f"Expected at least two finite outputs in an array of {dimensions} axes, got shape {outputs.shape}.")
    return outputs


def _radius(outputs: np.ndarray, radius: float | None) -> float:
    seen = float(np.linalg.norm(outputs, axis=-1).max())
    if radius is not None and seen > radius * (1 + 1e-9):
        raise WorkbenchError(f"Expected outputs of norm at most {radius:g}, the radius given, got one of {seen:g}.")
    return radius if radius is not None else (seen or 1.0)


def _check_gamma(gamma: float) -> float:
    if not 0.0 < gamma < 1.0:
        raise WorkbenchError(f"Expected gamma in (0, 1), got {gamma}.")
    return gamma


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise WorkbenchError(f"Expected {name} above 0, got {value}.")
