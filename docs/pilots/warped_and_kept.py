"""What a CNN learns of drawings that were voted for, warped further, where a private classifier within the same bound keeps some.

`python -m docs.pilots.warped_and_kept --dataset mnist-validation` prints a table: half of mu^2 is for the votes and half for the
classifier. Nothing here looks at test records. It needs MNIST's IDX files in the folder that WORKBENCH_DATA names, and half an hour of a
core.
"""

import math

import numpy as np

from docs.pilots.asked import Asked
from docs.pilots.labels_on_draws import SAMPLES, accuracy, given_chances, margins, trained
from workbench.datasets.base import to_unit_range
from workbench.experiment import make_plan, sample

CNN_SEEDS = (0, 1)
POOL = 40_000
WARPS = (0.9, 1.2, 1.6)
VOTES = {"selection.rounds": 8, "selection.candidates": 2000}  # as recipe mnist-eps10 has them


def main() -> None:
    """The table, a row at a time."""
    asked = Asked.of_command_line(__doc__, bound=10.0)
    dataset, half = asked.dataset, asked.mu * math.sqrt(0.5)
    classes, rng = dataset.facts.num_classes, np.random.default_rng(asked.seed)
    _, votes = trained("private-evolution", dataset, half, asked.delta, asked.seed, VOTES)
    plan, classifier = trained("private-classifier", dataset, half, asked.delta, asked.seed)
    told = plan.build().classify(classifier, dataset.held_out)  # type: ignore[attr-defined]
    print(f"{asked}; the classifier has {(told == dataset.held_out.labels).mean():.3f}\n")
    print("| last warps | what is taught | of the pool | CNN of seed 0 | CNN of seed 1 |\n|---|---|---|---|---|")
    for size in WARPS:
        warped = make_plan(
            "private-evolution", dataset.facts, settings={**VOTES, "selection.noise_multiplier": 1.0, "draws.variation_size": size}
        )
        pool = sample(warped, votes, POOL, balanced=True)
        assert pool.labels is not None
        images, given, own = to_unit_range(pool.records), given_chances(plan, classifier, pool), np.eye(classes)[pool.labels]
        margin = margins(own, given)
        agreed = margin > 0
        ways = {
            "all": (pool.labels, np.ones(POOL, dtype=bool)),
            "those that the classifier agrees with": (pool.labels, agreed),
            "of these, the half that it is less sure of": (pool.labels, agreed & (margin <= np.median(margin[agreed]))),
            "all, by the classifier's labels": (given.argmax(axis=1), np.ones(POOL, dtype=bool)),
        }
        for what, (labels, kept) in ways.items():
            places = [np.flatnonzero(kept & (labels == label)) for label in range(classes)]
            chosen = np.concatenate([rng.permutation(place)[: SAMPLES // classes] for place in places])
            targets, weights = np.eye(classes)[labels[chosen]], np.ones(len(chosen))
            found = [accuracy(images[chosen], targets, weights, dataset.held_out, seed) for seed in CNN_SEEDS]
            print(f"| {size:g} | {what} | {kept.mean():.2f} | {found[0]:.3f} | {found[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
