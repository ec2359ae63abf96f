"""What the measures of 10 000 MNIST samples take: what `make bench` writes. Needs the folder that WORKBENCH_DATA names."""

from typing import Any

import pytest

from benchmarks import measures
from workbench import datasets
from workbench.workspace import Workspace

MEASURES = [
    "benchmarks/measures.py",
    *(
        f"workbench/evaluation/{name}.py"
        for name in ("distances", "downstream", "eleven", "learners", "manifolds", "metrics", "nearest", "published", "quality")
    ),
]


@pytest.mark.slow(depends=MEASURES)
@pytest.mark.parametrize("name", measures.LIMITS)
@pytest.mark.usefixtures("slow_home")
def test_the_measures_keep_their_limit(name: str, figures: dict[str, Any]) -> None:
    """In minutes of one core, which no second one can make longer; the clock of a machine that is shared tells nothing."""
    if not datasets.DATASETS["mnist"].is_local(Workspace.located()):
        pytest.skip("the IDX files of MNIST are not here: set WORKBENCH_DATA to the folder that holds them")
    minutes, results = measures.LIMITED[name]()
    figures |= {"minutes of one core": minutes, "limit on two": measures.LIMITS[name]}
    figures["measures"] = [
        {"measure": measure.name, "value": measure.value, "seconds by the clock": measure.seconds} for measure in results
    ]
    if len(results) == 1:
        figures["each"] = results[0].note
        assert results[0].value > 0.7
    assert minutes <= measures.LIMITS[name]
