"""Workloads of one's own: named sets of columns and their weights, which no score moves further for."""

from itertools import combinations

import numpy as np
import pytest
from support.tables import unnamed_columns

from workbench.datasets import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.experiment import fit, make_plan, new_state
from workbench.methods.aim import AIMConfig
from workbench.methods.aim.method import candidates, weights
from workbench.methods.aim.training import sets_of
from workbench.methods.mst import MSTConfig
from workbench.methods.mst import method as mst
from workbench.models.graphical.workloads import LEAST_WEIGHT, named_sets, names_of
from workbench.records import Records

FACTS = DatasetFacts(name="four", kind=unnamed_columns((3, 3, 3, 3)), num_records=3_000, classes=("no", "yes"))
PAIRS = list(combinations(range(5), 2))


def related() -> Dataset:
    """Columns 1 and 2 are nearly alike, 3 and 4 are somewhat, and the label goes with the fourth a little."""
    draw = np.random.default_rng(0)
    one, three = draw.integers(0, 3, 4_000), draw.integers(0, 3, 4_000)
    two = np.where(draw.random(4_000) < 0.95, one, draw.integers(0, 3, 4_000))
    four = np.where(draw.random(4_000) < 0.5, three, draw.integers(0, 3, 4_000))
    rows = Records(np.stack([one, two, three, four], axis=1), (draw.random(4_000) < 0.3 + 0.2 * four).astype(np.int64))
    return Dataset(FACTS, rows.take(slice(3_000)), rows.take(slice(3_000, None)))


def test_sets_are_read_by_name_in_any_order_with_their_weights() -> None:
    assert names_of(FACTS) == ["column 1", "column 2", "column 3", "column 4", "class"]
    assert named_sets(" class + column 2: 2.5 ; column 3+column 1+column 2;", FACTS) == [((1, 4), 2.5), ((0, 1, 2), 1.0)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("column 1+column 9", "Unknown column of four 'column 9'. Choose one of: column 1, "),
        ("column 1", "sets of 2 to 6 different columns"),
        ("column 1+column 1", "sets of 2 to 6 different columns"),
        ("column 1+column 2; column 2+column 1: 3", "each set of columns once"),
        ("column 1+column 2: heavy", "a weight between 0.00390625 and 1e"),
        ("column 1+column 2: -1", "a weight between"),
        ("column 1+column 2: nan", "a weight between"),
        (" ; ", "Expected sets of columns, as age"),
    ],
)
@pytest.mark.parametrize("method", ["aim", "mst"])
def test_what_names_no_sets_is_refused_when_it_is_planned(method: str, text: str, said: str) -> None:
    with pytest.raises(WorkbenchError, match=said):
        make_plan(method, FACTS, epsilon=1.0, settings={"sets": text})


def test_candidates_are_the_named_sets_their_parts_and_single_columns() -> None:
    config = AIMConfig(sets="column 1+column 2+class; column 3+column 4: 4")
    sets = candidates(config, FACTS)
    assert sets == [(0,), (1,), (2,), (3,), (4,), (0, 1), (0, 4), (1, 4), (2, 3), (0, 1, 4)]
    by_columns = dict(zip(sets, weights(config, FACTS), strict=True))
    assert by_columns[2, 3] == 1.0, "four times two shared columns are the most of all"
    assert (by_columns[0, 1, 4], by_columns[0, 1], by_columns[2,]) == (0.375, 0.25, 0.5)


def test_the_published_workloads_are_what_they_were() -> None:
    for name, width in (("pairs", 2), ("triples", 3)):
        sets = candidates(AIMConfig.model_validate({"workload": name}), FACTS)
        assert sets == [one for size in range(1, width + 1) for one in combinations(range(5), size)]
    with_label = dict(zip(PAIRS, weights(AIMConfig(target_weight=3.0), FACTS)[5:], strict=True))
    assert with_label[0, 4] == 1.0 > with_label[0, 1] > 0.5


def test_no_weight_is_above_one_and_pairs_of_no_set_have_the_least() -> None:
    by_pair = dict(zip(PAIRS, mst.weights(MSTConfig(sets="column 1+column 2+class: 1; column 3+column 4: 3"), FACTS), strict=True))
    assert (by_pair[2, 3], by_pair[0, 1], by_pair[1, 4], by_pair[0, 2]) == (1.0, 85 / 256, 85 / 256, LEAST_WEIGHT)
    assert set(mst.weights(MSTConfig(), FACTS)) == {1.0}
    assert {pair for pair, weight in zip(PAIRS, mst.weights(MSTConfig(target_weight=4.0), FACTS), strict=True) if weight == 1.0} == {
        (0, 4), (1, 4), (2, 4), (3, 4)
    }  # fmt: skip


def chosen_by(method: str, sets: str) -> set[tuple[int, ...]]:
    dataset = related()
    plan = make_plan(method, FACTS, epsilon=20.0, settings={"sets": sets} | ({"rounds": 4} if method == "aim" else {}))
    state = new_state(plan, seed=0)
    for _ in fit(plan, dataset, state):
        pass
    return set(sets_of(state.tensors["chosen"]))


def test_a_workload_decides_what_is_measured() -> None:
    """By their counts alone columns 1 and 2 come first; whoever asks for others gets these."""
    assert (0, 1) in chosen_by("aim", "")
    chosen = chosen_by("aim", "column 3+column 4; column 4+class")
    assert chosen & {(2, 3), (3, 4)}
    assert (0, 1) not in chosen
    assert (0, 1) in chosen_by("mst", "")
    assert (2, 4) in chosen_by("mst", "column 3+class; column 4+class"), "a pair that hardly goes together"
