"""The Bayes-optimal reverse chain of discrete diffusion on a table, in closed form for all records at once.

Q_t = a_t I + (1 - a_t) 11^T/k per column; alphas_cumprod[t] is the product of a_1..a_t. Columns may have different numbers of
categories; arrays are padded to the largest, `width`, with probability 0.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from workbench.errors import WorkbenchError

Array = np.ndarray

SERIES_REACH = 0.03  # largest |u y| for which the power series below is used: its relative error is then below 1e-10
SERIES_TERMS = 8
NEGLIGIBLE_ODDS = 1e-25  # a record of smaller posterior odds adds less than this to J; smaller powers would be denormal and slow


@dataclass(frozen=True, eq=False)
class DiscreteChain:
    """A table and its noising process.

    `records` int (R, n) with values in 0..categories[i]-1, `copies` (R,) how often each stands in the table of N;
    `categories` (n,); `alphas_cumprod` (T+1,) from 1, falling, above 0 except possibly at T; `smoothing` xi is mixed into the last
    step's distributions, p -> (1 - xi) p + xi/k.
    """

    records: Array
    categories: Array
    alphas_cumprod: Array
    smoothing: float = 1e-3
    copies: Array | None = None  # None: each once

    @classmethod
    def of(cls, records: Array, categories: Array, alphas_cumprod: Array, smoothing: float = 1e-3) -> "DiscreteChain":
        """The chain of checked arguments."""
        records, categories = np.asarray(records), np.asarray(categories, dtype=np.int64)
        alphas_cumprod = np.asarray(alphas_cumprod, dtype=np.float64)
        if records.ndim != 2 or len(records) < 2 or not np.issubdtype(records.dtype, np.integer):
            raise WorkbenchError(f"Expected a table of at least two integer records, got {records.dtype} of shape {records.shape}.")
        if categories.shape != records.shape[1:] or categories.min() < 2:
            raise WorkbenchError(f"Expected a number of categories of at least 2 for each of {records.shape[1]} columns, got {categories}.")
        if records.min() < 0 or (records >= categories).any():
            raise WorkbenchError("Expected every value below its column's number of categories and at least 0.")
        if alphas_cumprod.ndim != 1 or len(alphas_cumprod) < 2 or alphas_cumprod[0] != 1 or not (np.diff(alphas_cumprod) < 0).all():
            raise WorkbenchError("Expected alphas_cumprod to start at 1 and to fall at every step.")
        if alphas_cumprod[-1] < 0 or not 0 < smoothing < 1:
            raise WorkbenchError(f"Expected alphas_cumprod >= 0 and a smoothing in (0, 1), got {alphas_cumprod[-1]} and {smoothing}.")
        return cls(records.astype(np.int64), categories, alphas_cumprod, smoothing)

    def distinct(self) -> tuple["DiscreteChain", Array]:
        """The same table with each row once and its number of copies, and where each record stands in it: (N,)."""
        rows, places, copies = np.unique(self.records, axis=0, return_inverse=True, return_counts=True)
        return replace(self, records=rows, copies=copies), places.reshape(-1)

    @property
    def num_records(self) -> int:
        """N, the s + 1 of theory."""
        return int(self.counts.sum())

    @cached_property
    def counts(self) -> Array:
        """How often each row stands in the table: int64 (R,)."""
        return np.ones(len(self.records), np.int64) if self.copies is None else self.copies

    @property
    def num_columns(self) -> int:
        """n."""
        return len(self.categories)

    @property
    def timesteps(self) -> int:
        """T."""
        return len(self.alphas_cumprod) - 1

    @cached_property
    def width(self) -> int:
        """The largest number of categories."""
        return int(self.categories.max())

    @cached_property
    def one_hot(self) -> Array:
        """The records as 0/1 values: (N, n * width) float64."""
        return self.encode(self.records)

    def encode(self, values: Array) -> Array:
        """One-hot form of (B, n) values: (B, n * width) float64."""
        return np.eye(self.width)[values].reshape(len(values), -1)

    def log_ratio(self, t: int) -> Array:
        """log Rb_t per column, t >= 1: (n,); Rb = mub+/mub-, the ratio of keeping a value to moving to a given other."""
        kept = self.alphas_cumprod[t]
        return np.log1p(self.categories * kept / (1 - kept))

    def log_miss(self, t: int) -> float:
        """log of the chance mub- of ending at a given other value, summed over columns: log q_t(v|u) = scores + this."""
        return float(np.log((1 - self.alphas_cumprod[t]) / self.categories).sum())

    def scores(self, values: Array, t: int) -> Array:
        """log W_V(u|v) up to a constant per row, for v = `values` (B, n): (B, N)."""
        weighted = self.encode(values) * np.repeat(self.log_ratio(t), self.width)
        return weighted @ self.one_hot.T

    def posterior(self, t: int) -> Array:
        """q(a | v = b, u = l) = Q_t[a, b] Qb_{t-1}[l, a] / Qb_t[l, b] per column: (n, b, l, a), padded with 0; smoothed at t = 1."""
        before, now = self.alphas_cumprod[t - 1], self.alphas_cumprod[t]
        step = self._transition(now / before)  # (n, a, b)
        joint = step.swapaxes(1, 2)[:, :, None, :] * self._transition(before)[:, None, :, :]  # (n, b, l, a)
        total = joint.sum(axis=3, keepdims=True)
        table = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
        return self._smoothed(table) if t == 1 else table

    def forward_draws(self, t: int, num_draws: int, generator: np.random.Generator) -> Array:
        """v ~ q_t(.|u), u spread evenly over the records in random order: (num_draws, n)."""
        origin = np.resize(np.repeat(np.arange(len(self.counts)), self.counts)[generator.permutation(self.num_records)], num_draws)
        noise = (generator.random((num_draws, self.num_columns)) * self.categories).astype(np.int64)
        kept = generator.random((num_draws, self.num_columns)) < self.alphas_cumprod[t]
        return np.where(kept, self.records[origin], noise)

    def _transition(self, kept: float) -> Array:
        real = self._real  # (n, width)
        uniform = (1 - kept) / self.categories[:, None, None] * (real[:, :, None] * real[:, None, :])
        return kept * (np.eye(self.width) * real[:, :, None]) + uniform

    def _smoothed(self, table: Array) -> Array:
        real = self._real
        mask = real[:, :, None, None] * real[:, None, :, None] * real[:, None, None, :]
        return mask * ((1 - self.smoothing) * table + self.smoothing / self.categories[:, None, None, None])

    @cached_property
    def _real(self) -> Array:
        """1 where a category exists: (n, width)."""
        return (np.arange(self.width) < self.categories[:, None]).astype(np.float64)


def softmax(scores: Array) -> Array:
    """Weights of each row, normalised without overflow."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def draw_columns(probabilities: Array, generator: np.random.Generator) -> Array:
    """One category per row and column from (B, n, width) probabilities: (B, n)."""
    cumulative = probabilities.cumsum(axis=2)
    threshold = generator.random(cumulative.shape[:2]) * cumulative[:, :, -1]
    return (cumulative <= threshold[:, :, None]).sum(axis=2)


def reverse_columns(chain: DiscreteChain, values: Array, table: Array, weights: Array) -> Array:
    """r_V^i(a|v) = sum_u W_V(u|v) q(a|v^i, u^i) for v = `values` (B, n) and `weights` (B, R) of all copies: (B, n, width)."""
    mass = (weights @ chain.one_hot).reshape(len(values), chain.num_columns, 1, chain.width)
    picked = table[np.arange(chain.num_columns), values]  # (B, n, l, a)
    return (mass @ picked)[:, :, 0, :]


def kl_columns(first: Array, second: Array) -> Array:
    """KL divergence of products of columns, from (B, n, width) probabilities: (B,)."""
    ratio = np.divide(first, second, out=np.ones_like(first), where=first > 0)
    return (first * np.log(ratio)).sum(axis=(1, 2))


class ReverseStep:
    """One reverse step at `values` (B, n), with all records and, through y = q/r0 - 1 and u = W/(1 - W), without each one.

    Leaving out record j turns r0 into r1 = r0 (1 - u_j y_j) column by column, with y_j of mean 0 under r0.
    """

    def __init__(self, chain: DiscreteChain, values: Array, t: int) -> None:
        self.chain, scores = chain, chain.scores(values, t)
        table, rows = chain.posterior(t), np.arange(len(values))
        together = softmax(scores + np.log(chain.counts))  # of all copies of a row
        weights = together / chain.counts  # W of one copy
        self.reverse = reverse_columns(chain, values, table, together)  # (B, n, width)
        self.top = scores.argmax(axis=1)
        others = scores + np.log(chain.counts)  # less one copy of the heaviest row
        alone = chain.counts[self.top] == 1
        others[rows, self.top] = np.where(alone, -np.inf, scores[rows, self.top] + np.log(np.maximum(chain.counts[self.top] - 1, 1)))
        remaining = softmax(others)
        self.without_top = reverse_columns(chain, values, table, remaining)
        self.rest = 1 - weights  # 1 - W
        top_score = scores[rows, self.top]
        excess = np.exp(others - top_score[:, None]).sum(axis=1)  # (1 - W) / W of the heaviest record, without cancellation
        self.rest[rows, self.top] = excess / (1 + excess)
        self.odds = weights / np.where(self.rest > 0, self.rest, 1.0)
        self.odds[self.odds < NEGLIGIBLE_ODDS] = 0.0
        self.odds[rows, self.top] = 0.0  # its own values come from `without_top`
        picked = table[np.arange(chain.num_columns), values]  # (B, n, l, a)
        base = self.reverse[:, :, None, :]
        self.tilt = np.divide(picked - base, base, out=np.zeros_like(picked), where=base > 0)  # y: (B, n, l, a)

    def divergences(self, path_weight: Array) -> Array:
        """sum over columns of KL(r0||r1) + path_weight KL(r1||r0): (B, N)."""
        forward, backward = self._by_series()
        self._by_logarithm(forward, backward)
        rows = np.arange(len(self.top))
        forward[rows, self.top] = kl_columns(self.reverse, self.without_top)
        backward[rows, self.top] = kl_columns(self.without_top, self.reverse)
        return forward + path_weight * backward

    def ratios(self, following: Array) -> Array:
        """prod over columns of r1/r0 at the value drawn next, `following` (B, n): (B, N)."""
        product = np.ones_like(self.odds)
        rows = np.arange(len(following))
        for column, categories in enumerate(self.chain.records.T):
            tilt = self.tilt[rows, column, :, following[:, column]]  # (B, l)
            product *= 1 - self.odds * tilt[:, categories]
        picked = np.take_along_axis(self.without_top, following[:, :, None], 2) / np.take_along_axis(self.reverse, following[:, :, None], 2)
        product[rows, self.top] = picked.prod(axis=(1, 2))
        return np.maximum(product, 0.0)

    def _by_series(self) -> tuple[Array, Array]:
        """Both divergences as power series in u with the moments of y under r0 as coefficients, for |u y| <= SERIES_REACH.

        -log(1 - z) = sum z^p / p and (1 - z) log(1 - z) = -z + sum_{p >= 2} z^p / (p (p - 1)), z = u y.
        """
        forward, backward = np.zeros_like(self.odds), np.zeros_like(self.odds)
        bounded = np.clip(self.tilt, -1e9, 1e9)
        weighted, power = self.reverse[:, :, None, :] * bounded, self.odds.copy()
        for p in range(2, SERIES_TERMS + 1):
            weighted = weighted * bounded
            power *= self.odds
            term = power * (weighted.sum(axis=3).reshape(len(power), -1) @ self.chain.one_hot.T)
            forward += term / p
            backward += term / (p * (p - 1))
        return forward, backward

    def _by_logarithm(self, forward: Array, backward: Array) -> None:
        """Overwrite the entries beyond the series' reach with the sums of logarithms themselves."""
        largest = np.abs(self.tilt).max(axis=3)  # (B, n, l)
        reach = np.minimum(largest, 1e9).max(axis=(1, 2))  # (B,)
        rows, records = np.nonzero(self.odds * reach[:, None] > SERIES_REACH)
        if len(rows) == 0:
            return
        columns, categories = np.arange(self.chain.num_columns), self.chain.records[records]  # (P, n)
        tilt = self.tilt[rows[:, None], columns, categories]  # (P, n, a)
        base = self.reverse[rows]  # (P, n, a)
        ratio = np.maximum(1 - self.odds[rows, records][:, None, None] * tilt, np.finfo(np.float64).tiny)
        logarithm = np.where(base > 0, np.log(ratio), 0.0)
        forward[rows, records] = -(base * logarithm).sum(axis=(1, 2))
        backward[rows, records] = (base * ratio * logarithm).sum(axis=(1, 2))
