"""Exact per-instance leakage of small tables: both chains propagated over the whole state space."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from workbench.errors import WorkbenchError
from workbench.privacy.not_dp.discrete_chain import Array, DiscreteChain, kl_columns, reverse_columns, softmax

MAX_STATES = 4096


@dataclass(frozen=True)
class ExactLeakage:
    """Exact marginals of the released value at `release_step`, with and without each record.

    `with_all` (S,) is P0; `without` (R, S) has one row P1 for each record of `indices`; `divergence` (R, steps) is J_t of the
    chain for t = T..release_step + 1, whose sum bounds the symmetrised KL divergence of P0 and P1.
    """

    indices: Array
    with_all: Array
    without: Array
    divergence: Array

    @property
    def total(self) -> Array:
        """J of the released chain: (R,)."""
        return self.divergence.sum(axis=1)

    def delta(self, epsilon: float, reverse: bool = False) -> Array:
        """sum (P0 - e^epsilon P1)_+, or with `reverse` sum (P1 - e^epsilon P0)_+, for one sample: (R,)."""
        first, second = (self.without, self.with_all[None]) if reverse else (self.with_all[None], self.without)
        return np.maximum(first - np.exp(epsilon) * second, 0.0).sum(axis=1)


def exact_leakage(chain: DiscreteChain, release_step: int = 0, indices: Iterable[int] | None = None) -> ExactLeakage:
    """Propagate the chain of all records and of all but one, for each record of `indices` (all by default).

    Bayes-optimal denoiser; at most 4096 states. Time grows with states^2 times steps times distinct records.
    """
    states = state_table(chain)
    chosen = np.arange(chain.num_records) if indices is None else np.asarray(list(indices), dtype=np.int64)
    distinct, first, inverse = np.unique(chain.records[chosen], axis=0, return_index=True, return_inverse=True)
    uniform = np.full(len(states), 1 / len(states))
    with_all, without = uniform, np.tile(uniform, (len(distinct), 1))
    divergence = []
    for t in range(chain.timesteps, release_step, -1):
        scores, table = chain.scores(states, t), chain.posterior(t)
        reverse = reverse_columns(chain, states, table, softmax(scores))  # (S, n, width)
        leaks = np.empty(len(distinct))
        for row, record in enumerate(chosen[first]):
            weights = np.insert(softmax(np.delete(scores, record, axis=1)), record, 0.0, axis=1)
            other = reverse_columns(chain, states, table, weights)
            leaks[row] = with_all @ kl_columns(reverse, other) + without[row] @ kl_columns(other, reverse)
            without[row] = propagate(without[row], other, chain)
        with_all = propagate(with_all, reverse, chain)
        divergence.append(leaks)
    rows = inverse.reshape(-1)
    return ExactLeakage(chosen, with_all, without[rows], np.array(divergence).T[rows])


def state_table(chain: DiscreteChain) -> Array:
    """Every value a record can take: (S, n); refused above 4096 states."""
    num_states = float(np.prod(chain.categories.astype(np.float64)))
    if num_states > MAX_STATES:
        raise WorkbenchError(f"Expected a table with at most {MAX_STATES} possible records, got {num_states:.4g}. Use monte_carlo_leakage.")
    return np.indices(tuple(chain.categories)).reshape(chain.num_columns, -1).T


def propagate(marginal: Array, reverse: Array, chain: DiscreteChain) -> Array:
    """sum_v P(v) prod_i r^i(v'_i|v) for every v': (S,). The columns are halved, so that the sum is one matrix product."""
    half = chain.num_columns // 2
    left = _products(reverse[:, :half], chain.categories[:half])
    right = _products(reverse[:, half:], chain.categories[half:])
    return ((left * marginal[:, None]).T @ right).reshape(-1)


def _products(reverse: Array, categories: Array) -> Array:
    """All products over some columns: (S, prod categories)."""
    product = np.ones((len(reverse), 1))
    for column, count in enumerate(categories):
        product = (product[:, :, None] * reverse[:, column, None, :count]).reshape(len(reverse), -1)
    return product
