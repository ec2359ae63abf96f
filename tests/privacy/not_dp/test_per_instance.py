"""Per-instance leakage: an independent brute force, Monte Carlo against exact, and what the theory says of the values."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import WorkbenchError
from workbench.privacy.not_dp import per_instance
from workbench.privacy.not_dp.discrete_chain import DiscreteChain, ReverseStep, kl_columns, reverse_columns, softmax
from workbench.privacy.not_dp.per_instance_exact import exact_leakage, state_table

VECTORS = json.loads((Path(__file__).parents[2] / "vectors_audit.json").read_text())
SMALL = VECTORS["small_chain"]
RECORDS = np.array(SMALL["records"])
ARGUMENTS = (RECORDS, SMALL["categories"], np.array(SMALL["alphas_cumprod"]))


def linear_alphas_cumprod(timesteps: int) -> np.ndarray:
    """The linear schedule, rescaled to the number of steps."""
    betas = np.minimum(np.linspace(1e-4, 2e-2, timesteps) * 1000 / timesteps, 0.999)
    return np.concatenate([[1.0], np.cumprod(1 - betas)])


@pytest.fixture
def chain() -> DiscreteChain:
    """The table of the vectors."""
    return DiscreteChain.of(*ARGUMENTS, SMALL["smoothing"])


@pytest.mark.parametrize(("epsilon", "expected", "simple"), VECTORS["kappa_j"])
def test_kappa_j(epsilon: float, expected: float, simple: float) -> None:
    assert per_instance.kappa_j(epsilon) == pytest.approx(expected, rel=1e-9)
    assert per_instance.kappa_j(epsilon) <= simple


def test_kappa_j_to_the_printed_digits() -> None:
    values = [per_instance.kappa_j(epsilon) for epsilon in (0.1, 0.5, 1, 2, 4, 8)]
    assert [float(f"{value:.4g}") for value in values] == [2.625, 0.6227, 0.3673, 0.2292, 0.1445, 0.08744]
    simple = [value for _, _, value in VECTORS["kappa_j"]]
    assert [float(f"{value:.4g}") for value in simple] == [105.1, 5.083, 1.582, 0.5783, 0.2547, 0.1250]


def test_exact_chain_agrees_with_brute_force(chain: DiscreteChain) -> None:
    exact = exact_leakage(chain)
    np.testing.assert_allclose(exact.divergence, SMALL["chain"], rtol=1e-9)
    np.testing.assert_allclose(exact.delta(SMALL["epsilon"]), SMALL["delta"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(exact.delta(SMALL["epsilon"], reverse=True), SMALL["delta_reverse"], rtol=1e-9, atol=1e-12)


def test_exact_leakage_of_chosen_records_and_an_earlier_release(chain: DiscreteChain) -> None:
    early = exact_leakage(chain, release_step=2, indices=[4, 1])
    np.testing.assert_allclose(early.divergence, np.array(SMALL["chain"])[[4, 1], :4], rtol=1e-9)
    assert (early.delta(0.1) <= per_instance.kappa_j(0.1) * early.total).all()


@given(st.integers(0, 10_000), st.floats(0.05, 4))
@settings(max_examples=15, deadline=None)
def test_kappa_j_times_the_chains_own_divergence_bounds_the_exact_delta(seed: int, epsilon: float) -> None:
    generator = np.random.default_rng(seed)
    categories = generator.integers(2, 4, 3)
    records = (generator.random((6, 3)) ** 3 * categories).astype(np.int64)
    kept = np.concatenate([[1.0], np.sort(generator.uniform(0.01, 0.99, 4))[::-1]])
    exact = exact_leakage(DiscreteChain.of(records, categories, kept))
    bound = per_instance.kappa_j(epsilon) * exact.total + 1e-12
    assert (exact.delta(epsilon) <= bound).all()
    assert (exact.delta(epsilon, reverse=True) <= bound).all()


@pytest.mark.parametrize("marginals", ["chain", "forward"])
def test_monte_carlo_agrees_with_exact_values(marginals: per_instance.Marginals) -> None:
    leakage = per_instance.monte_carlo_leakage(*ARGUMENTS, num_draws=20_000, seed=1, marginals=marginals)
    expected = np.array(SMALL[marginals]).sum(axis=1)
    assert (np.abs(leakage.total - expected) < 4.5 * leakage.standard_error).all()
    assert (leakage.standard_error < 0.05 * expected).all()
    assert ("not a bound" in leakage.label) == (marginals == "forward")


def test_leaving_a_record_out_in_closed_form_is_leaving_it_out() -> None:
    generator = np.random.default_rng(0)
    categories = np.array([5, 3, 2, 4, 5, 5])
    records = (generator.random((40, 6)) ** 2 * categories).astype(np.int64)
    chain = DiscreteChain.of(records, categories, linear_alphas_cumprod(20))
    for t in (20, 12, 6, 2, 1):
        values = (generator.random((30, 6)) * categories).astype(np.int64)
        values[:15] = records[:15]
        path_weight = generator.random((30, 40))
        step = ReverseStep(chain, values, t)
        following = chain.forward_draws(1, 30, generator)
        divergences, ratios = step.divergences(path_weight), step.ratios(following)
        for record in range(40):
            weights = np.insert(softmax(np.delete(chain.scores(values, t), record, axis=1)), record, 0.0, axis=1)
            other = reverse_columns(chain, values, chain.posterior(t), weights)
            expected = kl_columns(step.reverse, other) + path_weight[:, record] * kl_columns(other, step.reverse)
            np.testing.assert_allclose(divergences[:, record], expected, rtol=1e-6, atol=1e-13)
            picked = [np.take_along_axis(p, following[:, :, None], 2)[:, :, 0].prod(axis=1) for p in (other, step.reverse)]
            np.testing.assert_allclose(ratios[:, record], picked[0] / picked[1], rtol=1e-6, atol=1e-9)


def test_an_outlier_leaks_most_and_a_copy_least() -> None:
    leakage = per_instance.monte_carlo_leakage(*ARGUMENTS, num_draws=2000)
    assert leakage.total.argmax() == 4
    assert leakage.total[1] == pytest.approx(leakage.total[2])
    assert leakage.total[1] == leakage.total.min()


def test_theorem_s_bounds_the_forward_divergence_and_names_copies(chain: DiscreteChain) -> None:
    theorem = per_instance.theorem_s(*ARGUMENTS)
    assert theorem.exact
    np.testing.assert_allclose(theorem.pi.T, SMALL["pi"], rtol=1e-9)
    assert (np.array(SMALL["forward"]) <= theorem.bound.T).all()
    assert (theorem.pi[:, 1:3] <= 0.5 + 1e-12).all()


def test_theorem_s_by_draws_agrees_with_its_exact_value(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = per_instance.theorem_s(*ARGUMENTS)
    monkeypatch.setattr(per_instance, "MAX_STATES", 1)
    drawn = per_instance.theorem_s(*ARGUMENTS, num_draws=20_000)
    assert not drawn.exact
    np.testing.assert_allclose(drawn.pi, exact.pi, rtol=0.1)


def test_conversions_and_their_vacuity() -> None:
    leakage = per_instance.monte_carlo_leakage(*ARGUMENTS, num_draws=200, release_step=3)
    assert leakage.timesteps.tolist() == [6, 5, 4]
    np.testing.assert_allclose(leakage.by_release_step()[-1], leakage.total)
    small, large = leakage.delta(1.0), leakage.delta(1.0, num_samples=10_000)
    np.testing.assert_allclose(small, np.minimum(1, per_instance.kappa_j(1.0) * leakage.total))
    assert (large == 1).all()
    assert (leakage.paper_style(1.0, 2) > leakage.delta(1.0, 2)).all()
    np.testing.assert_allclose(leakage.paper_style(0.5, 2), 2 * leakage.total / (0.5 * (1 - np.exp(-0.5))))
    np.testing.assert_allclose(leakage.delta_standard_error(1.0, 7), per_instance.kappa_j(1.0) * 7 * leakage.standard_error)
    with pytest.raises(WorkbenchError, match="above 0"):
        per_instance.kappa_j(0.0)


def test_the_exact_joint_reversal_shows_a_unique_record() -> None:
    """Reversing all columns at once from uniform states: delta of a unique record is 1/(s+1) however large epsilon is."""
    generator = np.random.default_rng(0)
    records = np.concatenate([generator.integers(0, 2, (20, 4)), [[2, 2, 2, 2]]])
    chain = DiscreteChain.of(records, [3] * 4, np.linspace(1, 1e-4, 12))
    states = state_table(chain)
    shown = softmax(chain.scores(states, chain.timesteps)).mean(axis=0)[-1]  # P(v*); it is 0 without the record
    assert shown == pytest.approx(1 / 21, rel=1e-3)
    assert per_instance.appearance_probability(21) == pytest.approx(shown, rel=1e-3)
    assert per_instance.appearance_probability(21, 10) == pytest.approx(1 - (20 / 21) ** 10)


def test_gaps_of_a_denoiser(chain: DiscreteChain) -> None:
    def optimal(values: np.ndarray, t: int) -> np.ndarray:
        return (softmax(chain.scores(values, t)) @ chain.one_hot).reshape(len(values), 3, 4)

    def uniform(values: np.ndarray, _t: int) -> np.ndarray:
        return np.broadcast_to(
            (np.arange(4) < np.array(SMALL["categories"])[:, None]) / np.array(SMALL["categories"])[:, None], (len(values), 3, 4)
        )

    assert per_instance.denoiser_gap(chain, 3, optimal) == pytest.approx(0, abs=1e-12)
    assert per_instance.denoiser_gap(chain, 3, uniform) > 0.1
    generator = np.random.default_rng(0)
    first, second = chain.forward_draws(2, 5000, generator), chain.forward_draws(2, 5000, generator)
    assert per_instance.marginal_gap(first, second, SMALL["categories"]) < 0.05
    assert per_instance.marginal_gap(first, np.zeros_like(first), SMALL["categories"]) > 0.3


def test_figures() -> None:
    leakage = per_instance.monte_carlo_leakage(*ARGUMENTS, num_draws=20)
    over_time = per_instance.leakage_figure({"chain": leakage}, [0, 4])
    assert [trace.name for trace in over_time.data] == ["chain, record 0", "chain, record 4"]  # type: ignore[union-attr]
    by_release = per_instance.delta_figure(leakage, 4, 1.0, (1, 10))
    assert list(by_release.data[0].x) == [5, 4, 3, 2, 1, 0]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("records", "categories", "kept"),
    [
        ([[0, 3], [1, 0]], [2, 3], [1.0, 0.5]),
        ([[0, 1]], [2, 3], [1.0, 0.5]),
        ([[0, 1], [1, 0]], [2, 1], [1.0, 0.5]),
        ([[0, 1], [1, 0]], [2, 2], [0.9, 0.5]),
        ([[0, 1], [1, 0]], [2, 2], [1.0, 0.5, 0.6]),
        ([[0.0, 1.0], [1.0, 0.0]], [2, 2], [1.0, 0.5]),
    ],
)
def test_bad_tables_are_refused(records: list, categories: list[int], kept: list[float]) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        per_instance.monte_carlo_leakage(np.array(records), categories, np.array(kept))


def test_exact_values_are_refused_for_large_tables() -> None:
    records = np.zeros((3, 13), dtype=np.int64)
    with pytest.raises(WorkbenchError, match="at most 4096"):
        exact_leakage(DiscreteChain.of(records, np.full(13, 2), np.array([1.0, 0.5])))


@pytest.mark.slow
def test_speed_at_the_stated_size(figures: dict[str, Any]) -> None:
    records = (np.random.default_rng(0).random((1000, 10)) ** 2 * 5).astype(np.int64)
    start = time.perf_counter()
    leakage = per_instance.monte_carlo_leakage(records, np.full(10, 5), linear_alphas_cumprod(100), num_draws=200)
    seconds = time.perf_counter() - start
    relative = leakage.standard_error / leakage.total
    print(f"{seconds:.1f} s, median relative standard error {np.median(relative):.2f}")
    figures |= {"seconds": seconds, "median relative standard error of a record": float(np.median(relative))}
    figures |= {"smallest": float(relative.min()), "largest": float(relative.max())}
    assert seconds < 30


@pytest.mark.parametrize("copies", [[5, 1, 2, 1], [1, 1, 1, 1], [9, 1, 1, 3]])
def test_equal_records_are_computed_once_and_as_if_they_were_not(copies: list[int]) -> None:
    """Against the exact chain of all records, and against the same step of the table with every copy in it."""
    records = np.repeat([[0, 0, 0], [2, 1, 3], [1, 1, 0], [0, 0, 1]], copies, axis=0)
    chain = DiscreteChain.of(records, np.array([3, 2, 4]), np.linspace(1, 0, 7), 0.05)
    rows, places = chain.distinct()
    assert rows.num_records == len(records)
    assert np.array_equal(rows.records[places], records)
    values = state_table(chain)
    for t in (1, 3, 6):
        whole, once = (ReverseStep(one, values, t) for one in (chain, rows))
        weight = np.full((len(values), len(records)), 0.7)
        expected = whole.divergences(weight)
        assert once.divergences(weight[:, : len(rows.records)])[:, places] == pytest.approx(expected, rel=1e-7, abs=1e-18)
        assert once.ratios(values[::-1])[:, places] == pytest.approx(whole.ratios(values[::-1]), rel=1e-9)
    leakage = per_instance.monte_carlo_leakage(records, [3, 2, 4], np.linspace(1, 0, 7), num_draws=4000, smoothing=0.05)
    exact = exact_leakage(chain).total
    assert (np.abs(leakage.total - exact) <= 3.5 * leakage.standard_error).all()
