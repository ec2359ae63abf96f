"""Per-instance privacy of samples from a discrete diffusion model: how much each record shows in what is released.

The values are those of the Bayes-optimal denoiser; for a trained network they are an estimate. They depend on the records and
stay with the data holder. Setting: Wei et al. (2024); the bound used here, delta <= kappa_J(epsilon) m J with J the symmetrised
KL divergence of the released chain with and without the record, replaces their Theorem 1, whose constants the text leaves open.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from workbench.errors import WorkbenchError
from workbench.privacy.not_dp.discrete_chain import Array, DiscreteChain, ReverseStep, draw_columns, softmax
from workbench.privacy.not_dp.per_instance_exact import MAX_STATES, state_table

if TYPE_CHECKING:
    import plotly.graph_objects as go

Marginals = Literal["chain", "forward"]
CHUNK_VALUES = 1_000_000  # draws times records held at once: some hundred megabytes, and products large enough to be fast


@dataclass(frozen=True)
class Leakage:
    """Monte-Carlo J of every record, with standard errors over independent chains.

    `per_step` (steps, N) holds J_t for t = `timesteps` (steps,), T down to release_step + 1; `total` and `standard_error` (N,)
    their sum, `first_error` (N,) that of its first row. `marginals` "chain" estimates the released chain's own J; "forward" uses the
    noising process's marginals in their place, which is an estimate of another number and no bound. Without draws (0) nothing is
    estimated: the values are exact, and the errors 0.
    """

    timesteps: Array
    per_step: Array
    total: Array
    standard_error: Array
    first_error: Array
    num_draws: int
    marginals: Marginals
    smoothing: float

    @property
    def label(self) -> str:
        """What the numbers are."""
        ideal = f"Bayes-optimal denoiser, smoothing {self.smoothing:g} at t = 1"
        if not self.num_draws:
            return f"exact value of the released chain; {ideal}"
        kind = "Monte-Carlo value of the released chain" if self.marginals == "chain" else "estimate from forward marginals, not a bound"
        return f"{kind}, {self.num_draws} draws; {ideal}"

    @property
    def first(self) -> Array:
        """J of a release after the first step of generation, as it leaves pure noise: (N,). Before that step nothing is shown."""
        return self.per_step[0]

    def delta(self, epsilon: float, num_samples: int = 1, before: bool = False) -> Array:
        """min(1, kappa_J(epsilon) m J), of the release or `before` it, after the first step: (N,). A value of 1 is vacuous."""
        return np.minimum(1.0, kappa_j(epsilon) * num_samples * (self.first if before else self.total))

    def delta_standard_error(self, epsilon: float, num_samples: int = 1, before: bool = False) -> Array:
        """Standard error of `delta` before the cut at 1: (N,)."""
        return kappa_j(epsilon) * num_samples * (self.first_error if before else self.standard_error)

    def paper_style(self, epsilon: float, num_samples: int = 1) -> Array:
        """m J / (epsilon (1 - e^-epsilon)), the paper's conversion, not cut: (N,); above 1 it is vacuous."""
        return num_samples * self.total / (epsilon * -math.expm1(-epsilon))

    def by_release_step(self) -> Array:
        """J of a release at each of `timesteps` - 1 instead of at the end: (steps, N), falling with the release step."""
        return np.cumsum(self.per_step, axis=0)


@lru_cache(maxsize=1024)
def kappa_j(epsilon: float) -> float:
    """sup over x > epsilon of (1 - e^(epsilon - x)) / (x (1 - e^-x)): delta(epsilon) <= kappa_J J for the symmetrised KL J.

    At most 1/(epsilon (1 - e^-epsilon)). Found on a grid in log(x - epsilon), refined about its best point to 1e-12.
    """
    if not epsilon > 0 or math.isinf(epsilon):
        raise WorkbenchError(f"Expected a finite epsilon above 0, got {epsilon}.")
    low, high = -20.0, 20.0
    best = 0.0
    for _ in range(8):
        grid = np.linspace(low, high, 801)
        excess = np.exp(grid)
        x = epsilon + excess
        values = np.expm1(-excess) / (x * np.expm1(-x))
        at = int(values.argmax())
        best = max(best, float(values[at]))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, 800)]
    return best * (1 + 1e-12)


def monte_carlo_leakage(
    records: Array,
    categories: Sequence[int] | Array,
    alphas_cumprod: Array,
    *,
    num_draws: int = 200,
    seed: int = 0,
    release_step: int = 0,
    smoothing: float = 1e-3,
    marginals: Marginals = "chain",
    progress: Callable[[float], None] | None = None,
) -> Leakage:
    """J of every record by drawing `num_draws` chains of the model of all records: O(T num_draws N n k).

    `records` int (N, n); `categories` (n,); `alphas_cumprod` (T+1,) from 1, falling; the value at t = `release_step` is what is
    released. Equal records are computed once. 200 draws leave a relative standard error of half a record's J and more; take 2 000 or
    more for a ranking. `progress` gets the share of the draws that is done.
    """
    chain = DiscreteChain.of(records, np.asarray(categories), alphas_cumprod, smoothing)
    if not 0 <= release_step < chain.timesteps or num_draws < 2:
        raise WorkbenchError(f"Expected a release step in 0..{chain.timesteps - 1} and 2 or more draws, got {release_step}, {num_draws}.")
    steps = np.arange(chain.timesteps, release_step, -1)
    with threadpool_limits(1, "blas"):  # the products are too small to share: threads would wait for each other most of the time
        rows, places = chain.distinct()  # equal records have equal values
        per_step, *squares = _moments(rows, steps, num_draws, marginals, np.random.default_rng(seed), progress)
    per_step = per_step[:, places]
    means = per_step.sum(axis=0), per_step[0]
    of_sum, of_first = (
        np.sqrt(np.maximum(square[places] - mean**2, 0.0) / (num_draws - 1)) for square, mean in zip(squares, means, strict=True)
    )
    return Leakage(steps, per_step, means[0], of_sum, of_first, num_draws, marginals, smoothing)


def _moments(
    chain: DiscreteChain,
    steps: Array,
    num_draws: int,
    marginals: Marginals,
    generator: np.random.Generator,
    progress: Callable[[float], None] | None,
) -> tuple[Array, Array, Array]:
    """Means over all draws of what each step adds to J, (steps, N), of the square of their sum and of the first one's, (N,) each."""
    rows = len(chain.records)
    per_step, squares, first = np.zeros((len(steps), rows)), np.zeros(rows), np.zeros(rows)
    size = max(1, CHUNK_VALUES // rows)
    for start in range(0, num_draws, size):
        totals = np.zeros((min(size, num_draws - start), rows))
        for row, values in enumerate(_walk(chain, steps, len(totals), marginals, generator)):
            per_step[row] += values.sum(axis=0)
            totals += values
            if row == 0:
                first += (values**2).sum(axis=0)
            if progress is not None:
                progress((start + len(totals) * (row + 1) / len(steps)) / num_draws)
        squares += (totals**2).sum(axis=0)
    return per_step / num_draws, squares / num_draws, first / num_draws


def _walk(chain: DiscreteChain, steps: Array, count: int, marginals: Marginals, generator: np.random.Generator) -> Iterator[Array]:
    """Yield what every chain and record adds to J at each step: (count, N)."""
    values = (generator.random((count, chain.num_columns)) * chain.categories).astype(np.int64)
    path_weight = np.ones((count, len(chain.records)))
    for t in steps.tolist():
        if marginals == "forward":
            values = chain.forward_draws(t, count, generator)
        step = ReverseStep(chain, values, t)
        if marginals == "forward":
            path_weight = (1 + 1 / (chain.num_records - 1)) * step.rest
        yield step.divergences(path_weight)
        if marginals == "chain":
            following = draw_columns(step.reverse, generator)
            path_weight *= step.ratios(following)
            values = following


@dataclass(frozen=True)
class TheoremS:
    """The rates behind the leakage: `bound` (steps, N) on J_t with forward marginals, `pi` (steps, N) in [1/N, 1].

    A record with D exact copies has pi <= 1/(D + 1). The real chain can exceed the bound: it explains, it is not to be published.
    """

    timesteps: Array
    pi: Array
    bound: Array
    exact: bool


def theorem_s(
    records: Array,
    categories: Sequence[int] | Array,
    alphas_cumprod: Array,
    *,
    num_draws: int = 2000,
    seed: int = 0,
    smoothing: float = 1e-3,
) -> TheoremS:
    """Bound on J_t of the forward marginals: sum_i (Rb_{t-1,i} Rb_{t,i} - 1) pi_t (1/(s+1) + 1/s), s + 1 records.

    At t = 1 the sum is over k_i (1 - xi)/xi. pi_t = E W(v*|v) over v ~ q_t(.|v*).
    pi_t is exact for at most 4096 states, else the mean over `num_draws` of N W(v*|v)^2 under v ~ q_t, which has the same value.
    """
    chain = DiscreteChain.of(records, np.asarray(categories), alphas_cumprod, smoothing)
    generator, size = np.random.default_rng(seed), chain.num_records
    exact = float(np.prod(chain.categories.astype(np.float64))) <= MAX_STATES
    steps = np.arange(chain.timesteps, 0, -1)
    pi = np.empty((len(steps), size))
    for row, t in enumerate(steps.tolist()):
        values = state_table(chain) if exact else chain.forward_draws(t, num_draws, generator)
        scores = chain.scores(values, t)
        mass = np.exp(scores + chain.log_miss(t)).mean(axis=1) if exact else np.full(num_draws, 1 / num_draws)
        pi[row] = np.clip(size * (mass @ softmax(scores) ** 2), 1 / size, 1.0)
    factor = np.array([_column_factor(chain, t) for t in steps.tolist()])
    return TheoremS(steps, pi, factor[:, None] * pi * (1 / size + 1 / (size - 1)), exact)


def _column_factor(chain: DiscreteChain, t: int) -> float:
    if t == 1:
        return float((chain.categories * (1 - chain.smoothing) / chain.smoothing).sum())
    return float(np.expm1(chain.log_ratio(t - 1) + chain.log_ratio(t)).sum())


def appearance_probability(num_records: int, num_samples: int = 1) -> float:
    """Chance that a unique record appears among samples of the exact joint reversal: 1 - (1 - 1/(s+1))^m.

    Whatever epsilon is, delta(epsilon) is at least this for one sample: no bound on that process can be smaller.
    """
    return -math.expm1(num_samples * math.log1p(-1 / num_records))


@dataclass(frozen=True)
class DenoiserError:
    """How far a trained denoiser is from the ideal one that values per record are about, at some time steps (Wei et al., assumptions 1, 2).

    `gamma` (steps,) in nats (see `denoiser_gap`), `gamma_tilde` (steps,) a total variation (see `marginal_gap`), beside `floor`
    (steps,), what sampling alone makes of the latter for two equal distributions.
    """

    timesteps: Array
    gamma: Array
    gamma_tilde: Array
    floor: Array


def denoiser_gap(chain: DiscreteChain, t: int, predict: Callable[[Array, int], Array], num_draws: int = 500, seed: int = 0) -> float:
    """gamma_t of a trained denoiser: largest over columns of the mean KL(q(v_0^i|v_t) || p(v_0^i|v_t)), v_t from the forward process.

    `predict(values (B, n), t)` returns probabilities (B, n, width) of the original values, 0 beyond a column's categories.
    """
    values = chain.forward_draws(t, num_draws, np.random.default_rng(seed))
    exact = (softmax(chain.scores(values, t)) @ chain.one_hot).reshape(num_draws, chain.num_columns, chain.width)
    predicted = np.maximum(predict(values, t), np.finfo(np.float64).tiny)
    ratio = np.divide(exact, predicted, out=np.ones_like(exact), where=exact > 0)
    return float((exact * np.log(ratio)).sum(axis=2).mean(axis=0).max())


def marginal_gap(first: Array, second: Array, categories: Sequence[int] | Array) -> float:
    """gamma~_t by samples: largest total variation over pairs of columns between two sets of values (B, n), forward and reverse.

    Biased upwards by sampling: about sqrt(k_i k_j / B) for equal distributions.
    """
    categories = np.asarray(categories)
    pairs = [(i, j) for i in range(len(categories)) for j in range(i + 1, len(categories))] or [(0, 0)]

    def shares(values: Array, i: int, j: int) -> Array:
        cells = values[:, i] * categories[j] + values[:, j]
        return np.bincount(cells, minlength=int(categories[i] * categories[j])) / len(values)

    return max(float(np.abs(shares(first, i, j) - shares(second, i, j)).sum()) / 2 for i, j in pairs)


def leakage_figure(leakages: Mapping[str, Leakage], records: Sequence[int]) -> "go.Figure":
    """J_t of chosen records over the diffusion time t, one line per entry and record."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for name, leakage in leakages.items():
        for record in records:
            figure.add_scatter(x=leakage.timesteps, y=leakage.per_step[:, record], name=f"{name}, record {record}")
    figure.update_layout(
        xaxis_title="diffusion step t", yaxis_title="J_t (nats, symmetrised)", yaxis={"type": "log", "exponentformat": "power"}
    )
    return figure


def delta_figure(leakage: Leakage, record: int, epsilon: float, num_samples: Sequence[int] = (1, 10, 100)) -> "go.Figure":
    """min(1, kappa_J m J) of one record against the step at which the value is released, one line per number of samples m."""
    import plotly.graph_objects as go

    figure, divergence = go.Figure(), leakage.by_release_step()[:, record]
    for count in num_samples:
        delta = np.minimum(1.0, kappa_j(epsilon) * count * divergence)
        figure.add_scatter(x=leakage.timesteps - 1, y=delta, name=f"{count} samples")
    figure.update_layout(
        xaxis_title="release step", yaxis_title=f"delta at epsilon {epsilon:g}", yaxis={"type": "log", "exponentformat": "power"}
    )
    return figure
