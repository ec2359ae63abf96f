"""Graphical models, against sums over every combination of categories."""

from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.optimize import LinearConstraint, minimize

from workbench.models.graphical.beliefs import Beliefs, Structure
from workbench.models.graphical.drawing import drawn_rows, in_strata
from workbench.models.graphical.estimation import PULL, Measurement, estimated_potentials, joined_measurements
from workbench.models.graphical.junction_tree import Columns, JunctionTree, junction_tree, smallest_cliques
from workbench.models.graphical.zeros import Zeros
from workbench.training.streams import Stream

SIZES = (2, 3, 4, 2, 3)
COLUMNS: tuple[Columns, ...] = ((0,), (1,), (2,), (3,), (4,))
SETS: dict[str, tuple[Columns, ...]] = {
    "a circle": (*COLUMNS, (0, 1), (1, 2), (2, 3), (0, 3), (3, 4)),
    "a tree": (*COLUMNS, (0, 1), (1, 2), (1, 3), (3, 4)),
    "parts that do not touch": (*COLUMNS, (0, 4), (1, 3)),
    "triples and their parts": (*COLUMNS, (0, 1), (0, 1, 2), (2, 3), (1, 3, 4)),
    "columns alone": COLUMNS,
}
every_kind = pytest.mark.parametrize("sets", SETS.values(), ids=SETS)
EVERY_PART = [part for width in range(1, 6) for part in combinations(range(5), width)]


def model(sets: tuple[Columns, ...], root: int = 4) -> tuple[Beliefs, np.ndarray]:
    """A model by random potentials, and its probabilities summed out by hand."""
    structure = Structure(SIZES, sets, root)
    potentials = np.random.default_rng(0).normal(size=sum(structure.cells))
    joint, start = np.zeros(SIZES), 0
    for columns, cells in zip(sets, structure.cells, strict=True):
        part = potentials[start : start + cells].reshape(structure.shape(columns))
        joint = joint + np.expand_dims(part, [axis for axis in range(5) if axis not in columns])
        start += cells
    joint = np.exp(joint)
    return Beliefs.of(structure, torch.from_numpy(potentials)), joint / joint.sum()


def summed_out(joint: np.ndarray, columns: Columns) -> np.ndarray:
    return joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in columns))


@every_kind
@pytest.mark.parametrize("root", [0, 4])
def test_every_marginal_is_the_sum_over_the_other_columns(sets: tuple[Columns, ...], root: int) -> None:
    """Those that no clique has too."""
    beliefs, joint = model(sets, root)
    assert len(beliefs.cliques) < 5 or sets == COLUMNS
    for columns, marginal in zip(sets, beliefs.sets, strict=True):
        np.testing.assert_allclose(marginal.numpy(), summed_out(joint, columns), rtol=1e-10)
    for columns in EVERY_PART:
        np.testing.assert_allclose(beliefs.marginal(columns).numpy(), summed_out(joint, columns), rtol=1e-10)


def test_the_normaliser_has_the_marginals_as_its_gradient() -> None:
    structure = Structure(SIZES, SETS["a circle"], 4)
    start = torch.from_numpy(np.random.default_rng(1).normal(size=sum(structure.cells)))
    marginals = torch.cat([table.flatten() for table in Beliefs.of(structure, start).sets])
    for place in (0, 7, 20, len(start) - 1):
        moved = [Beliefs.of(structure, start + sign * 1e-5 * torch.eye(len(start))[place]).log_normaliser for sign in (1, -1)]
        assert (moved[0] - moved[1]) / 2e-5 == pytest.approx(float(marginals[place]), rel=1e-6)


@every_kind
def test_a_junction_tree_holds_every_set_and_its_columns_hang_together(sets: tuple[Columns, ...]) -> None:
    tree = junction_tree(SIZES, sets, root=3)
    assert 3 in tree.cliques[0]
    assert all(tree.holding(columns) is not None for columns in sets)
    for column in range(5):
        having = [number for number, clique in enumerate(tree.cliques) if column in clique]
        assert sum(tree.parents[number] not in having for number in having) == 1, "all but the first hang on another one that has it"
    assert all(parent < number for number, parent in enumerate(tree.parents))


def test_a_circle_of_four_is_cut_once_where_it_is_cheapest() -> None:
    """Of the two ways to cut it, the one through the columns of 2 and 2 categories."""
    circle = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert sorted(smallest_cliques((2, 9, 2, 9), circle)) == [(0, 1, 2), (0, 2, 3)]
    assert sorted(smallest_cliques((9, 2, 9, 2), circle)) == [(0, 1, 3), (1, 2, 3)]
    assert JunctionTree((2, 9, 2, 9), ((0, 1, 2), (0, 2, 3)), (-1, 0)).cells == 72


@pytest.mark.filterwarnings("ignore:delta_grad")
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_the_estimate_is_the_least_of_what_it_says_by_another_optimiser(noise: float) -> None:
    """Every probability of a table of 12 cells is free there: no potential, no tree."""
    sizes, sets = (2, 3, 2), ((0,), (0, 1), (1, 2), (0, 2))
    draw = np.random.default_rng(2)
    truth = draw.dirichlet(np.ones(12)).reshape(sizes)
    deviations = [0.02, 0.01, 0.01, 0.03]
    measured = []
    for columns, deviation in zip(sets, deviations, strict=True):
        shares = summed_out(truth, columns).ravel()
        measured.append(Measurement(columns, shares + noise * draw.normal(size=shares.size), deviation))

    def objective(cells: np.ndarray) -> float:
        joint, value = cells.reshape(sizes), float(np.sum(cells * np.log(np.maximum(cells, 1e-300))))
        for one in measured:
            value += float(np.sum((summed_out(joint, one.columns).ravel() - one.shares) ** 2)) / (2 * PULL * one.deviation**2 / 0.01)
        return value

    whole = LinearConstraint(np.ones((1, 12)), 1, 1)
    options = {"gtol": 1e-10, "xtol": 1e-12, "maxiter": 2_000}
    best = minimize(objective, np.full(12, 1 / 12), method="trust-constr", bounds=[(1e-9, 1)] * 12, constraints=whole, options=options)
    structure = Structure(sizes, sets, 2)
    estimate = Beliefs.of(structure, estimated_potentials(structure, measured, torch.zeros(sum(structure.cells), dtype=torch.float64)))
    joint = estimate.marginal((0, 1, 2)).numpy()
    assert objective(joint.ravel()) == pytest.approx(float(best.fun), abs=2e-6)
    np.testing.assert_allclose(joint, best.x.reshape(sizes), atol=2e-3)


def test_a_loop_is_held_that_no_tree_of_pairs_holds() -> None:
    """Three coins, the third whether the first two differ a little more often than not: each pair is told of, and all come out."""
    joint = np.array([[[6.0, 1.0], [2.0, 3.0]], [[2.0, 3.0], [1.0, 6.0]]]) / 24
    sets: tuple[Columns, ...] = ((0, 1), (1, 2), (0, 2))
    structure = Structure((2, 2, 2), sets, 0)
    measured = [Measurement(columns, summed_out(joint, columns).ravel(), 1e-5) for columns in sets]
    beliefs = Beliefs.of(structure, estimated_potentials(structure, measured, torch.zeros(12, dtype=torch.float64)))
    assert structure.tree.cliques == ((0, 1, 2),)
    for columns in sets:
        np.testing.assert_allclose(beliefs.marginal(columns).numpy(), summed_out(joint, columns), atol=1e-4)


def test_measurements_of_one_set_count_as_one_of_less_noise() -> None:
    ones = [Measurement((0,), np.array([0.4, 0.6]), 0.1), Measurement((1,), np.ones(1), 0.3), Measurement((0,), np.array([0.6, 0.4]), 0.2)]
    first, second = joined_measurements(ones)
    assert (first.columns, second.columns) == ((0,), (1,))
    np.testing.assert_allclose(first.shares, [0.44, 0.56])
    assert first.deviation == pytest.approx(1 / np.sqrt(100 + 25))


@every_kind
def test_rows_have_the_models_shares_of_every_part(sets: tuple[Columns, ...]) -> None:
    """Within four deviations of independent rows' counts in every cell; what is drawn in strata is nearer, so this is no narrow gate."""
    beliefs, joint = model(sets)
    rows = drawn_rows(beliefs, 40_000, Stream(bytes(32)))
    for columns in EVERY_PART:
        assert_drawn_from(rows, summed_out(joint, columns), columns)


def test_rows_of_given_labels_have_the_models_shares_given_these() -> None:
    beliefs, joint = model(SETS["a circle"])
    labels = np.random.default_rng(3).integers(0, 3, 60_000)
    rows = drawn_rows(beliefs, 60_000, Stream(bytes(32)), labels)
    assert np.array_equal(rows[:, 4], labels)
    for label in range(3):
        given = joint[..., label] / joint[..., label].sum()
        assert_drawn_from(rows[labels == label][:, :4], given, (0, 1, 2, 3))


def assert_drawn_from(rows: np.ndarray, shares: np.ndarray, columns: Columns) -> None:
    counts = np.zeros(shares.shape)
    np.add.at(counts, tuple(rows[:, columns].T), 1)
    np.testing.assert_array_less(np.abs(counts - len(rows) * shares), 4.5 * np.sqrt(len(rows) * shares) + 1)


def test_strata_leave_no_cell_off_by_two_and_every_row_its_own_draw() -> None:
    shares = np.array([[1.0, 2.0, 0.0, 7.0], [5.0, 5.0, 0.0, 0.0]])
    places = np.arange(3_001) % 3 // 2
    cells = in_strata(shares, places, Stream(bytes(32)))
    for place in (0, 1):
        expected = shares[place] / 10 * np.sum(places == place)
        np.testing.assert_array_less(np.abs(np.bincount(cells[places == place], minlength=4) - expected), 2)
    first = [int(in_strata(shares[:1], np.zeros(5, np.int64), Stream(bytes([number] * 32)))[0]) for number in range(250)]
    assert np.bincount(first, minlength=4) == pytest.approx([25, 50, 0, 175], abs=25)


@pytest.mark.parametrize(("shares", "drawn"), [([0.0, 1.0, 0.0, 1.0, 0.0], {1, 3}), ([0.0, 0.0, 0.0], {0, 1, 2})])
def test_a_cell_of_no_share_is_never_drawn_and_a_row_without_any_draws_evenly(shares: list[float], drawn: set[int]) -> None:
    assert set(in_strata(np.array([shares]), np.zeros(300, np.int64), Stream(bytes(32))).tolist()) == drawn


@every_kind
def test_declared_zeros_leave_the_distribution_given_that_they_do_not_occur(sets: tuple[Columns, ...]) -> None:
    """Of columns that share a set and of ones that do not; a category that only ever stands with another may go altogether."""
    zeros = (Zeros((0, 4), ((1,), (0, 2))), Zeros((1, 2, 3), ((0,), (1, 2), (0, 1))), Zeros((2, 3), ((3,), (0,))))
    beliefs, joint = model(sets)
    potentials = torch.from_numpy(np.random.default_rng(0).normal(size=sum(beliefs.structure.cells)))
    potentials[:2] = 400.0  # however much they ask for it
    structure = Structure(SIZES, sets, 4, zeros)
    held = Beliefs.of(structure, potentials)
    joint = joint.copy()
    joint[np.ix_([1], range(3), range(4), range(2), [0, 2])] = 0
    joint[:, 0, 1:3] = 0
    joint[:, :, 3, 0] = 0
    without = np.random.default_rng(0).normal(size=2)  # both of column 0's potentials are 400 now
    joint = joint * np.exp(-without)[:, None, None, None, None]
    joint /= joint.sum()
    for columns in EVERY_PART:
        np.testing.assert_allclose(held.marginal(columns).numpy(), summed_out(joint, columns), rtol=1e-9, atol=1e-300)
    rows = drawn_rows(held, 3_000, Stream(bytes(32)))
    assert not (np.isin(rows[:, 4], (0, 2)) & (rows[:, 0] == 1)).any()
    assert not (np.isin(rows[:, 2], (1, 2)) & (rows[:, 1] == 0)).any()
    assert not ((rows[:, 2] == 3) & (rows[:, 3] == 0)).any()
