"""What a CNN learns of draws of cluster moments whose second moment is believed as far as its noise lets it.

`python -m docs.pilots.spectrum_without_noise --bound 1 --seed 0` prints a table: draws by the eigenvalues as they were released, and by
what the records' variance is expected to be in the released directions. Nothing here looks at test records. It needs Fashion-MNIST's IDX
files in the folder that WORKBENCH_DATA names, and some minutes of a core.

Source: Bun, Bouchaud and Potters 2017, the rotationally invariant estimator for additive noise.
"""

import math
from unittest.mock import patch

import numpy as np

from docs.pilots.asked import Asked
from docs.pilots.labels_on_draws import SAMPLES, accuracy, trained
from workbench.datasets.base import to_unit_range
from workbench.experiment import sample
from workbench.methods.cluster_moments import mixture
from workbench.methods.cluster_moments.method import SECOND_MOMENT, ClusterMomentsConfig, multiplier
from workbench.training.state import State

CNN_SEEDS = (0, 1)
SHOWN = (0, 10, 30, 60, 99)  # directions whose variances are printed, from the widest on
RELEASED = mixture.directions


def believed(config: ClusterMomentsConfig, state: State) -> mixture.Directions:
    """The released directions, each with the variance that is expected of the records in it: no noise in any."""
    released = RELEASED(config, state)
    values = np.linalg.eigvalsh(mixture.second_moment(config, state))
    deviation = multiplier(config, SECOND_MOMENT) * mixture.norm_of_differences(config, state) ** 2 / state.facts.num_records
    variance = deviation**2 / 2  # of a number off the diagonal, as the triangle weighs it by sqrt 2
    width = 2 * math.sqrt(variance)
    apart = values[:, None] - values[None]
    pulled = (apart / (apart**2 + width**2)).sum(axis=1)
    expected = np.maximum(values - 2 * variance * pulled, 0.0)[-len(released.covariance) :]
    return mixture.Directions(released.means, released.axes, np.diag(expected), released.shares)


def main() -> None:
    """The table, and the variances of a few directions."""
    asked = Asked.of_command_line(__doc__, bound=1.0)
    dataset = asked.dataset
    heads = " | ".join(f"accuracy, CNN of seed {seed}" for seed in CNN_SEEDS)
    print(f"{asked}\n\n| variances | {heads} | of a few directions |")
    print(f"|---|{'---|' * (len(CNN_SEEDS) + 1)}")
    for what, directions in {"as released": RELEASED, "believed": believed}.items():
        with patch.object(mixture, "directions", directions):
            plan, state = trained("cluster-moments", dataset, asked.mu, asked.delta, asked.seed)
            records = sample(plan, state, SAMPLES)
            config = plan.build().config
            assert isinstance(config, ClusterMomentsConfig)
            widths = np.diag(directions(config, state).covariance)[::-1]
        assert records.labels is not None
        images, targets = to_unit_range(records.records), np.eye(dataset.facts.num_classes)[records.labels]
        told = [accuracy(images, targets, np.ones(len(images)), dataset.held_out, seed) for seed in CNN_SEEDS]
        seen = ", ".join(f"{widths[place]:.3f}" for place in SHOWN if place < len(widths))
        print(f"| {what} | {' | '.join(f'{value:.3f}' for value in told)} | {seen} |", flush=True)


if __name__ == "__main__":
    main()
