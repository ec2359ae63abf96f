"""Make tests/vectors_audit.json: PAC privacy, per-instance leakage and audits, each computed here from its definition.

Nothing of the workbench is imported. Run as `python tests/make_vectors_audit.py`; the file is written beside this one.
"""

import itertools
import json
import math
from pathlib import Path

import numpy as np
from scipy import optimize, stats

State = tuple[int, ...]


def success_probability(mutual_information: float, prior: float) -> float:
    """The largest p >= prior whose binary KL divergence from the prior is at most the mutual information."""
    if -math.log(prior) <= mutual_information:
        return 1.0

    def excess(p: float) -> float:
        return p * math.log(p / prior) + (1 - p) * math.log((1 - p) / (1 - prior)) - mutual_information

    return optimize.brentq(excess, prior, 1 - 1e-15, xtol=1e-15)


def kappa(epsilon: float) -> float:
    """sup of (1 - e^(epsilon - x)) / (x (1 - e^-x)) over x > epsilon, by bounded minimisation over log(x - epsilon)."""

    def negative(log_excess: float) -> float:
        x = epsilon + math.exp(log_excess)
        return -(1 - math.exp(epsilon - x)) / (x * (1 - math.exp(-x)))

    minima = [
        optimize.minimize_scalar(negative, bounds=(low, low + 2), method="bounded", options={"xatol": 1e-12}) for low in range(-12, 6)
    ]
    return -min(result.fun for result in minima)


def one_run_epsilon(m: int, r: int, v: int, delta: float, p: float) -> float:
    """Largest epsilon with f(v) + 2 m delta max_i (f(v-i) - f(v)) / i < p, f(v) = P[Bin(r, q) >= v]."""

    def excess(epsilon: float) -> float:
        tail = stats.binom.sf(np.arange(v + 1) - 1, r, 1 / (1 + math.exp(-epsilon)))
        return tail[v] + 2 * m * delta * max((tail[v - i] - tail[v]) / i for i in range(1, v + 1)) - p

    return optimize.brentq(excess, 1e-9, 30, xtol=1e-12)


def f_dp_mu(m: int, r: int, v: int, p: float) -> float:
    """Largest mu whose Gaussian trade-off curve the recursion of Mahloujifar et al. rejects."""

    def rejected(mu: float) -> bool:
        rho, h = p * v / m, p * (r - v) / m
        for i in reversed(range(v)):
            new = max(h, stats.norm.cdf(stats.norm.ppf(rho) - mu))
            if new == h:
                break
            rho, h = rho + i / (r - i) * (new - h), new
        return rho + h > r / m

    low, high = 0.0, 10.0
    while high - low > 1e-13:
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def gdp_epsilon(mu: float, delta: float) -> float:
    """Epsilon of mu-GDP at delta."""

    def excess(epsilon: float) -> float:
        return stats.norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2) - delta

    return optimize.brentq(excess, 0, 60, xtol=1e-13)


def upper_limit(successes: int, trials: int, alpha: float) -> float:
    """Clopper-Pearson upper limit at alpha / 2."""
    return float(stats.beta.ppf(1 - alpha / 2, successes + 1, trials - successes))


def two_sided(fn: int, fp: int, trials: int, alpha: float, delta: float) -> tuple[float, float]:
    """mu and epsilon of Nasr et al. from the error counts."""
    fnr, fpr = upper_limit(fn, trials, alpha), upper_limit(fp, trials, alpha)
    epsilon = max(math.log((1 - delta - fnr) / fpr), math.log((1 - delta - fpr) / fnr))
    return float(stats.norm.ppf(1 - fpr) - stats.norm.ppf(fnr)), epsilon


class SmallChain:
    """Per-instance leakage of a tiny table by loops over states, records and columns, straight from the definitions."""

    def __init__(self, records: list[tuple[int, ...]], categories: list[int], kept: list[float], xi: float) -> None:
        self.records, self.categories, self.kept, self.xi = records, categories, kept, xi
        self.states = list(itertools.product(*(range(k) for k in categories)))

    def move(self, kept: float, k: int, a: int, b: int) -> float:
        """Q[a, b] of one column."""
        return kept * (a == b) + (1 - kept) / k

    def forward(self, t: int, u: tuple[int, ...], v: tuple[int, ...]) -> float:
        """q_t(v|u)."""
        return math.prod(self.move(self.kept[t], k, a, b) for k, a, b in zip(self.categories, u, v, strict=True))

    def reverse(self, t: int, v: tuple[int, ...], records: list[tuple[int, ...]]) -> list[list[float]]:
        """r_V^i(.|v) for every column, from the posterior over the records."""
        weights = [self.forward(t, u, v) for u in records]
        columns = []
        for i, k in enumerate(self.categories):
            column = [0.0] * k
            for weight, u in zip(weights, records, strict=True):
                joint = [self.move(self.kept[t] / self.kept[t - 1], k, a, v[i]) * self.move(self.kept[t - 1], k, u[i], a) for a in range(k)]
                for a in range(k):
                    column[a] += weight / sum(weights) * joint[a] / sum(joint)
            columns.append([(1 - self.xi) * p + self.xi / k for p in column] if t == 1 else column)
        return columns

    def leakage(self, record: int, epsilon: float) -> dict[str, float | list[float]]:
        """J_t of chain and forward marginals (t = T..1), pi_t, and the exact delta both ways without one record."""
        rest = self.records[:record] + self.records[record + 1 :]
        first = {state: 1 / len(self.states) for state in self.states}
        second = dict(first)
        chain, forward, pi = [], [], []
        for t in range(len(self.kept) - 1, 0, -1):
            with_all = {v: self.reverse(t, v, self.records) for v in self.states}
            without = {v: self.reverse(t, v, rest) for v in self.states}
            kl = {v: self.divergence(with_all[v], without[v]) for v in self.states}
            back = {v: self.divergence(without[v], with_all[v]) for v in self.states}
            chain.append(sum(first[v] * kl[v] + second[v] * back[v] for v in self.states))
            q0 = {v: sum(self.forward(t, u, v) for u in self.records) / len(self.records) for v in self.states}
            q1 = {v: sum(self.forward(t, u, v) for u in rest) / len(rest) for v in self.states}
            forward.append(sum(q0[v] * kl[v] + q1[v] * back[v] for v in self.states))
            own = {v: self.forward(t, self.records[record], v) for v in self.states}
            pi.append(sum(own[v] * own[v] / (len(self.records) * q0[v]) for v in self.states))
            first, second = self.step(first, with_all), self.step(second, without)
        scale = math.exp(epsilon)
        delta = sum(max(first[v] - scale * second[v], 0) for v in self.states)
        reverse = sum(max(second[v] - scale * first[v], 0) for v in self.states)
        return {"chain": chain, "forward": forward, "pi": pi, "delta": delta, "delta_reverse": reverse}

    def divergence(self, p: list[list[float]], q: list[list[float]]) -> float:
        """KL of products of columns."""
        return sum(a * math.log(a / b) for left, right in zip(p, q, strict=True) for a, b in zip(left, right, strict=True) if a > 0)

    def step(
        self, marginal: dict[tuple[int, ...], float], reverse: dict[tuple[int, ...], list[list[float]]]
    ) -> dict[tuple[int, ...], float]:
        """The next marginal."""
        following = dict.fromkeys(self.states, 0.0)
        for v, mass in marginal.items():
            for w in self.states:
                following[w] += mass * math.prod(reverse[v][i][a] for i, a in enumerate(w))
        return following


def small_chain() -> dict[str, object]:
    """Five records, two of them equal, one an outlier; three columns of 3, 2 and 4 categories; six steps."""
    records = [(0, 0, 0), (0, 0, 1), (0, 0, 1), (1, 0, 0), (2, 1, 3)]
    categories, kept, xi, epsilon = [3, 2, 4], [1.0, 0.97, 0.85, 0.6, 0.35, 0.12, 0.02], 1e-3, 1.0
    chain = SmallChain(records, categories, kept, xi)
    results = [chain.leakage(record, epsilon) for record in range(len(records))]
    inputs = {"records": records, "categories": categories, "alphas_cumprod": kept, "smoothing": xi, "epsilon": epsilon}
    return {**inputs, **{name: [result[name] for result in results] for name in results[0]}}


def main() -> None:
    """Write the file."""
    informations, priors = [1 / 64, 1 / 16, 0.25, 0.5, math.log(2), 1.0], [0.5, 0.1, 0.01]
    audits = [(1000, 1000, 600), (1000, 100, 95), (1000, 100, 100), (5000, 200, 180)]
    one_run, mus = [one_run_epsilon(*row, 1e-5, 0.05) for row in audits], [f_dp_mu(*row, 0.05) for row in audits]
    mu, epsilon = two_sided(200, 10, 1000, 0.05, 1e-5)
    vectors = {
        "success_probability": [[p, i, success_probability(i, p)] for p in priors for i in informations],
        "kappa_j": [[eps, kappa(eps), 1 / (eps * (1 - math.exp(-eps)))] for eps in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)],
        "one_run": [[*row, value] for row, value in zip(audits, one_run, strict=True)],
        "one_run_ceiling": [[m, one_run_epsilon(m, m, m, 1e-5, 0.05)] for m in (100, 500, 1000, 5000)],
        "f_dp_one_run": [[*row, value, gdp_epsilon(value, 1e-5)] for row, value in zip(audits, mus, strict=True)],
        "two_sided": {"false_negatives": 200, "false_positives": 10, "trials": 1000, "mu": mu, "epsilon": epsilon},
        "upper_limit": [[x, n, upper_limit(x, n, 0.05)] for x, n in ((0, 10), (3, 10), (200, 1000))],
        "small_chain": small_chain(),
    }
    Path(__file__).with_name("vectors_audit.json").write_text(json.dumps(vectors, indent=1) + "\n")


if __name__ == "__main__":
    main()
