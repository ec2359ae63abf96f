"""What the measures of 10 000 MNIST samples take: all of ours, and the published protocol's eleven classifiers.

`python -m benchmarks.measures` prints a table. Needs the folder that WORKBENCH_DATA names. Minutes are a processor's: no second core can
make them longer, nor other work on the machine, and on two cores the clock shows no more.
"""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.limits import limit_row, print_limits

TITLE = "measures of 10 000 MNIST samples"
NUM_SAMPLES, NOISE = 10_000, 32
ELEVEN, OTHERS = "the eleven classifiers, minutes", "all but the eleven classifiers, minutes"
LIMITS = {OTHERS: 6.0, ELEVEN: 40.0}


def rows() -> list[dict[str, Any]]:
    """One row a limit, as `limit_row` makes them; printed too. Without the files of MNIST none, and that is said."""
    from workbench import datasets
    from workbench.workspace import Workspace

    if not datasets.DATASETS["mnist"].is_local(Workspace.located()):
        print(f"\n{TITLE}: left out, as its IDX files are not here. Set WORKBENCH_DATA to the folder that holds them.")
        return []
    result = [limit_row(TITLE, name, [LIMITED[name]()[0]], limit) for name, limit in LIMITS.items()]
    print_limits(TITLE, result)
    return result


def all_but_the_eleven() -> tuple[float, list[Any]]:
    """Minutes and results of all that such data allows, those taken by name too, with their ceilings; what needs a model has neither."""
    from workbench.evaluation import METRICS
    from workbench.evaluation.protocols import OWN

    needy = ("model", "terms", "public labels")
    names = [name for name, metric in METRICS.items() if "image" in metric.kinds and metric.protocol == OWN and metric.needs not in needy]
    return measuring_minutes(names)


def the_eleven() -> tuple[float, list[Any]]:
    """The same of the eleven, without a ceiling, which takes as long again and is kept."""
    return measuring_minutes(["accuracy_sklearn_mean"], ceiling=False)


def measuring_minutes(names: Sequence[str], ceiling: bool = True) -> tuple[float, list[Any]]:
    """Processor minutes and results of measuring noisy training images, in a workspace where nothing is kept yet."""
    import numpy as np

    from workbench.datasets import Dataset, load
    from workbench.evaluation import evaluate
    from workbench.records import Records
    from workbench.runs.threads import few_threads
    from workbench.workspace import Workspace

    mnist, generator = load("mnist", workspace=Workspace.located()), np.random.default_rng(0)
    images = mnist.train.records[:NUM_SAMPLES] + generator.normal(0, NOISE, (NUM_SAMPLES, *mnist.facts.shape))
    samples = Records(np.clip(images, 0, 255).astype(np.uint8), np.asarray(mnist.train.labels)[:NUM_SAMPLES])
    dataset = mnist if ceiling else Dataset(mnist.facts, samples, mnist.held_out)  # its ceiling is of the same records, which are kept
    with tempfile.TemporaryDirectory() as empty, few_threads():
        began = time.process_time()
        results = evaluate(samples, dataset, metrics=names, workspace=Workspace.open(Path(empty), Workspace.located().data))
        return (time.process_time() - began) / 60, list(results)


LIMITED = {OTHERS: all_but_the_eleven, ELEVEN: the_eleven}


if __name__ == "__main__":
    rows()
