"""Discrete diffusion against the exact chain of a table, and against itself where everything can be summed."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from workbench.diffusion.discrete import (
    DISCRETE_SCHEDULES,
    Denoise,
    DiscreteConfig,
    DiscreteDiffusion,
    bound_terms,
    build_discrete,
    denoiser,
    generate,
)
from workbench.diffusion.discrete.sampler import drawn_categories
from workbench.errors import WorkbenchError
from workbench.networks import TableDenoiser, TableNetworkConfig
from workbench.privacy.not_dp.discrete_chain import DiscreteChain, reverse_columns, softmax
from workbench.privacy.not_dp.per_instance_exact import propagate, state_table

SIZES = (3, 2, 4)
ROWS = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 3], [2, 0, 1], [2, 1, 1]])
XI = 1e-6


def process(sizes: tuple[int, ...] = SIZES, **fields: Any) -> DiscreteDiffusion:
    return build_discrete(DiscreteConfig.model_validate({"timesteps": 12, "smoothing": XI} | fields), sizes)


def bayes(diffusion: DiscreteDiffusion, rows: np.ndarray) -> tuple[DiscreteChain, Denoise]:
    """The chain of all rows, and its denoiser: p(x_0 | x_t) column by column, each record by its weight."""
    chain = DiscreteChain.of(rows, np.array(diffusion.categories), diffusion.alphas_cumprod, diffusion.smoothing)

    def denoise(x: Tensor, t: Tensor) -> Tensor:
        probabilities = softmax(chain.scores(x.numpy(), int(t[0]))) @ chain.one_hot
        return torch.from_numpy(probabilities.reshape(len(x), len(diffusion.categories), -1)).float()

    return chain, denoise


@pytest.mark.parametrize("schedule", DISCRETE_SCHEDULES)
def test_schedules_fall_from_one_to_zero_and_the_cubic_one_is_the_fastest(schedule: str) -> None:
    values = DISCRETE_SCHEDULES[schedule](40)
    assert (values[0], values[-1]) == (1.0, 0.0)
    assert (np.diff(values) < 0).all()
    assert (DISCRETE_SCHEDULES["cubic"](40) <= values).all()
    assert (DISCRETE_SCHEDULES["cosine"](40)[1:20] > DISCRETE_SCHEDULES["linear"](40)[1:20]).all()


def test_kernels_are_doubly_stochastic_and_cumulate_column_by_column() -> None:
    diffusion = process()
    for column, size in enumerate(SIZES):
        product = np.eye(size)
        for t in range(1, 13):
            kernel = diffusion.kernel(column, t)
            assert (kernel >= 0).all()
            assert kernel.sum(axis=0) == pytest.approx(1)
            assert kernel.sum(axis=1) == pytest.approx(1)
            product = product @ kernel
            assert product == pytest.approx(diffusion.cumulated_kernel(column, t), abs=1e-12)


@pytest.mark.parametrize("t", [1, 5, 12])
def test_noised_values_follow_the_cumulated_kernel(t: int) -> None:
    """Every cell of an even grid of the uniform draw, so that nothing is left to chance."""
    diffusion, count = process(), 12_000
    uniform = ((torch.arange(count) + 0.5) / count)[:, None].expand(-1, 3)
    x_start = torch.tensor([[2, 1, 0]]).expand(count, -1)
    noised = diffusion.add_noise(x_start, uniform, torch.full((count,), t))
    for column, size in enumerate(SIZES):
        shares = np.bincount(noised[:, column].numpy(), minlength=size) / count
        assert shares == pytest.approx(diffusion.cumulated_kernel(column, t)[x_start[0, column]], abs=2e-4)


@pytest.mark.parametrize("t", [2, 6, 12])
def test_the_bridge_is_bayes_rule_of_the_kernels(t: int) -> None:
    diffusion = process()
    for column, size in enumerate(SIZES):
        step, before, now = diffusion.kernel(column, t), diffusion.cumulated_kernel(column, t - 1), diffusion.cumulated_kernel(column, t)
        for start in range(size):
            for here in range(size):
                rows = [torch.zeros(1, 3, dtype=torch.int64) for _ in range(2)]
                rows[0][0, column], rows[1][0, column] = start, here
                posterior = diffusion.posterior(rows[0], rows[1], t)[0, column].numpy()
                assert posterior[:size] == pytest.approx(step[:, here] * before[start] / now[start, here], abs=1e-6)
                assert (posterior[size:] == 0).all()


def test_the_reverse_step_is_that_of_the_exact_chain() -> None:
    """The two implementations share nothing; unequal columns, the smoothed last step among them."""
    diffusion = process(schedule="linear", smoothing=0.01)
    chain, denoise = bayes(diffusion, ROWS)
    states = state_table(chain)
    for t in (1, 3, 12):
        expected = reverse_columns(chain, states, chain.posterior(t), softmax(chain.scores(states, t)))
        x = torch.from_numpy(states)
        assert diffusion.reverse(denoise(x, torch.full((len(x),), t)), x, t).numpy() == pytest.approx(expected, abs=2e-6)


def end_of(diffusion: DiscreteDiffusion, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distribution of the reverse chain's end over all states, with the exact denoiser, and that of the rows."""
    chain, denoise = bayes(diffusion, rows)
    states = state_table(chain)
    x, marginal = torch.from_numpy(states), np.full(len(states), 1 / len(states))
    for t in range(diffusion.timesteps, 0, -1):
        reverse = diffusion.reverse(denoise(x, torch.full((len(x),), t)), x, t)
        marginal = propagate(marginal, reverse.double().numpy(), chain)
    real = np.array([(rows == state).all(axis=1).mean() for state in states])
    return marginal, real


def test_the_exact_denoiser_gives_one_column_back_exactly() -> None:
    rows = np.array([[0], [0], [0], [2], [3], [3]])
    marginal, real = end_of(process((4,), timesteps=5, schedule="cubic"), rows)
    assert marginal == pytest.approx(real, abs=1e-5)


def test_the_exact_denoiser_gives_the_data_back_as_steps_grow() -> None:
    """Columns are drawn apart within a step, so the error falls with the length of a step: by half where there are twice as many."""
    distances = []
    for timesteps in (20, 40, 80, 320):
        marginal, real = end_of(process(timesteps=timesteps, schedule="linear"), ROWS)
        distances.append(float(np.abs(marginal - real).sum()) / 2)
    assert distances[0] > 1.5 * distances[1] > 1.5**2 * distances[2]
    assert distances[3] < 0.02


def test_samples_are_draws_of_the_reverse_chain_and_stop_where_they_are_released() -> None:
    diffusion = process()
    chain, denoise = bayes(diffusion, ROWS)
    count = 4000
    seen: list[Tensor] = []
    generator = torch.Generator().manual_seed(0)
    samples = generate(denoise, diffusion, count, generator, on_step=lambda _done, x: seen.append(x))
    marginal, _ = end_of(diffusion, ROWS)
    cells = np.ravel_multi_index(tuple(samples.numpy().T), SIZES)
    shares = np.bincount(cells, minlength=len(marginal)) / count
    assert np.abs(shares - marginal).max() < 4 * np.sqrt(0.25 / count)
    early = generate(denoise, diffusion, count, torch.Generator().manual_seed(0), release_time=9)
    assert len(seen) == 12
    assert torch.equal(early, seen[2])
    assert np.array_equal(state_table(chain)[cells], samples.numpy())


def test_a_draw_is_never_a_category_without_a_chance() -> None:
    probabilities = torch.tensor([[[0.0, 0.5, 0.5, 0.0]]]).expand(5000, 1, 4)
    assert set(drawn_categories(probabilities, torch.Generator().manual_seed(0)).flatten().tolist()) == {1, 2}


def test_the_loss_is_least_for_the_exact_denoiser_and_the_bound_meets_the_entropy() -> None:
    """One column: the bound is tight, so its mean over the records is the entropy of the data, smoothing aside."""
    rows = np.array([[0], [0], [0], [2], [3], [3]])
    diffusion = process((4,), timesteps=5)
    _, denoise = bayes(diffusion, rows)
    x_start = torch.from_numpy(np.tile(rows, (4000, 1)))
    terms = bound_terms(denoise, diffusion, x_start, torch.Generator().manual_seed(0))
    total = sum(values.double() for values in terms.values())
    assert isinstance(total, Tensor)
    entropy = -(0.5 * np.log(0.5) + 1 / 6 * np.log(1 / 6) + 1 / 3 * np.log(1 / 3))
    assert float(total.mean()) == pytest.approx(entropy, abs=4 * float(total.std()) / len(total) ** 0.5)
    assert float(terms["prior"].abs().max()) == 0.0

    def even(x: Tensor, _t: Tensor) -> Tensor:
        return torch.full((len(x), 1, 4), 0.25)

    worse = bound_terms(even, diffusion, x_start, torch.Generator().manual_seed(0))
    assert float(sum(float(values.mean()) for values in worse.values())) > entropy + 0.1


def test_a_network_of_zeros_is_right_for_even_independent_columns() -> None:
    """Bayes' rule of the column's own noised value is in the process, not in the network."""
    diffusion = process()
    network = TableDenoiser(TableNetworkConfig(hidden_width=8), diffusion.num_values, diffusion.timesteps)
    every = np.indices(SIZES).reshape(3, -1).T
    _, exact = bayes(diffusion, every)
    x = torch.from_numpy(every)
    for t in (1, 6, 12):
        times = torch.full((len(x),), t)
        assert denoiser(diffusion, network)(x, times).detach().numpy() == pytest.approx(exact(x, times).numpy(), abs=1e-5)


def test_encoded_rows_and_logits_stand_in_the_same_places() -> None:
    diffusion = process()
    x = torch.tensor([[2, 1, 3], [0, 0, 1]])
    ones = torch.tensor([[0, 0, 1, 0, 1, 0, 0, 0, 1], [1, 0, 0, 1, 0, 0, 1, 0, 0]])
    means = torch.tensor([1 / 3] * 3 + [1 / 2] * 2 + [1 / 4] * 4)
    kept = torch.tensor(diffusion.alphas_cumprod[[4, 12]])[:, None]
    assert torch.allclose(diffusion.encode(x, torch.tensor([4, 12])), (kept * (ones - means)).float())
    logits = 50.0 * ones
    t = torch.tensor([12, 12])
    assert diffusion.loss(logits, x, torch.zeros_like(x), t).tolist() == pytest.approx([0.0, 0.0], abs=1e-5)
    assert diffusion.log_probabilities(logits, x, t).argmax(dim=2).tolist() == x.tolist()


@pytest.mark.parametrize(("sizes", "kept"), [((), [1.0, 0.5]), ((2, 0), [1.0, 0.5]), ((2,), [0.9, 0.5]), ((2,), [1.0, 1.0]), ((2,), [1.0])])
def test_what_is_no_process_is_refused(sizes: tuple[int, ...], kept: list[float]) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        DiscreteDiffusion(sizes, np.array(kept))
