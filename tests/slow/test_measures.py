"""What the measures of 10 000 MNIST samples take. Needs the folder that WORKBENCH_DATA names."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here

from workbench import datasets
from workbench.datasets import Dataset
from workbench.evaluation import METRICS, MetricResult, evaluate
from workbench.evaluation.protocols import OWN
from workbench.jobs.threads import few_threads
from workbench.records import Records

NUM_SAMPLES = 10_000
MEASURES = [
    f"workbench/evaluation/{name}.py"
    for name in ("distances", "downstream", "eleven", "learners", "manifolds", "metrics", "nearest", "published", "quality")
]


@pytest.fixture
def mnist(slow_home: Path) -> Dataset:
    """The 60 000 + 10 000 images; skips where they are not on this machine."""
    if not datasets.DATASETS["mnist"].is_local(here()):
        pytest.skip("the IDX files of MNIST are not here: set WORKBENCH_DATA to the folder that holds them")
    return datasets.load("mnist")


@pytest.mark.slow(depends=MEASURES)
def test_our_own_measures_take_six_minutes(mnist: Dataset, figures: dict[str, Any]) -> None:
    """All that such data allows, those taken by name too, with their ceilings; what needs a model or public labels has neither here."""
    needy = ("model", "terms", "public labels")
    names = [name for name, metric in METRICS.items() if "image" in metric.kinds and metric.protocol == OWN and metric.needs not in needy]
    taken(names, mnist, figures, 6)


@pytest.mark.slow(depends=MEASURES)
def test_the_eleven_classifiers_take_forty_minutes(mnist: Dataset, figures: dict[str, Any]) -> None:
    """Without a ceiling, which takes as long again and is kept: one of them takes what it takes."""
    (result,) = taken(["accuracy_sklearn_mean"], mnist, figures, 40, ceiling=False)
    figures["each"] = result.note
    assert result.value > 0.7


def taken(names: Sequence[str], mnist: Dataset, figures: dict[str, Any], minutes: float, ceiling: bool = True) -> list[MetricResult]:
    """Measure noisy training images, and hold a processor's time against the limit, which no second core can make longer.

    The clock of a machine that is shared tells nothing.
    """
    generator = np.random.default_rng(0)
    images = mnist.train.records[:NUM_SAMPLES] + generator.normal(0, 32, (NUM_SAMPLES, *mnist.facts.shape))
    assert mnist.train.labels is not None
    samples = Records(np.clip(images, 0, 255).astype(np.uint8), mnist.train.labels[:NUM_SAMPLES])
    dataset = mnist if ceiling else Dataset(mnist.facts, samples, mnist.held_out)  # its ceiling is of the same records, which are kept
    began, processor = time.perf_counter(), time.process_time()
    with few_threads():
        results = evaluate(samples, dataset, metrics=names, workspace=here())
    spent = time.process_time() - processor
    figures |= {"minutes of one core": spent / 60, "limit on two": minutes, "minutes by the clock": (time.perf_counter() - began) / 60}
    figures["measures"] = [{"measure": found.name, "value": found.value, "seconds by the clock": found.seconds} for found in results]
    assert spent <= 60 * minutes
    return results
