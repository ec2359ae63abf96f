"""Every single column of Adult at a bound of 1, against the table itself: the target first, the worst by name."""

import math
from typing import Any

import numpy as np
import pytest
from support.slow_tier import DATA, FLOW

from workbench.experiment import fit, load, make_plan, new_state, sample
from workbench.records import Records, TableKind
from workbench.workspace import Workspace

GRAPHICAL = (
    "workbench/methods/aim/**",
    "workbench/methods/mst/**",
    "workbench/methods/independent_marginals/**",
    "workbench/models/graphical/**",
)
SEEDS, OF_TARGET, OF_ANY = (0, 1, 2), 0.01, 0.02


def off(samples: Records, table: Records, sizes: list[int]) -> list[float]:
    """Total variation distance of each column's shares, the target's last."""
    columns = [*zip(samples.records.T, table.records.T, strict=True), (samples.labels, table.labels)]
    shares = [[np.bincount(values, minlength=size) / len(values) for values in pair] for pair, size in zip(columns, sizes, strict=True)]
    return [float(abs(one - other).sum() / 2) for one, other in shares]


@pytest.mark.slow(depends=[*FLOW, *GRAPHICAL, "workbench/training/marginals.py"])
@pytest.mark.usefixtures("slow_home")
@pytest.mark.parametrize("method", ["mst", "aim"])
def test_no_single_column_is_far_off(method: str, figures: dict[str, Any]) -> None:
    if DATA is None:
        pytest.skip("needs Adult's files in the folder that WORKBENCH_DATA names")
    dataset = load("adult", workspace=Workspace.default())
    n, kind = dataset.facts.num_records, TableKind.of(dataset.facts.kind)
    names, sizes = [*(column.name for column in kind.columns), "income"], [*(len(column.categories) for column in kind.columns), 2]
    plan = make_plan(method, dataset.facts, epsilon=1.0, delta=1 / (n * math.log(n)))
    assert plan.bound.epsilon <= 1
    distances = []
    for seed in SEEDS:
        state = new_state(plan, seed=seed)
        for _ in fit(plan, dataset, state):
            pass
        distances.append(off(sample(plan, state, n), dataset.train, sizes))
        worst = int(np.argmax(distances[-1]))
        figures |= {f"seed {seed}": f"target {distances[-1][-1]:.4f}, worst {names[worst]} {distances[-1][worst]:.4f}"}
    assert max(columns[-1] for columns in distances) <= OF_TARGET
    assert max(map(max, distances)) <= OF_ANY
