"""What MST releases: marginals of single columns, a tree of pairs chosen one by one, and their marginals."""

import math

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.mst.config import MSTConfig
from workbench.models.graphical.workloads import named_sets, pair_weights, scaled
from workbench.privacy.accounting.events import ExponentialMechanismDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.exponential import choice_distance
from workbench.training.marginals import all_pairs, marginals_stage, sizes_of

ONE_WAY, CHOICE, TWO_WAY = "one-way marginals", "choice of pairs", "two-way marginals"
MOST_CELLS = 10_000_000  # of a marginal of two columns, which is kept whole


def num_edges(facts: DatasetFacts) -> int:
    """Pairs that make a tree of the columns."""
    return len(sizes_of(facts)) - 1


def stages(config: MSTConfig, facts: DatasetFacts) -> list[Stage]:
    """The three releases."""
    edges = num_edges(facts)
    if not edges:
        raise WorkbenchError("Expected a table of at least two columns, the label one of them, got one. Take independent-marginals.")
    weights(config, facts)  # refuses columns that are not there
    return [
        marginals_stage(ONE_WAY, config.noise_of(config.share_of_one_way), sum(sizes_of(facts))),
        _choice(config, facts, edges),
        marginals_stage(TWO_WAY, config.noise_of(config.share_of_two_way), edges * largest_marginal(facts)),
    ]


def largest_marginal(facts: DatasetFacts) -> int:
    """Cells of the largest marginal of two columns; refuses one that is too large to keep."""
    cells = math.prod(sorted(sizes_of(facts))[-2:])
    if cells > MOST_CELLS:
        raise WorkbenchError(
            f"Expected two columns to have at most {MOST_CELLS} pairs of categories, got {cells}. Merge rare categories, "
            "or take independent-marginals."
        )
    return cells


def weights(config: MSTConfig, facts: DatasetFacts) -> list[float]:
    """Of each pair, how much its score counts, at most 1, in multiples of 2^-8."""
    pairs = all_pairs(facts)
    if config.sets:
        return pair_weights(named_sets(config.sets, facts), pairs)
    label = num_edges(facts) if facts.num_classes else -1
    return scaled([config.target_weight if label in pair else 1.0 for pair in pairs])


def _choice(config: MSTConfig, facts: DatasetFacts, edges: int) -> Stage:
    return Stage(
        name=CHOICE,
        event=ExponentialMechanismDpEvent(2.0 * config.choice_epsilon(edges), zero_out_ratio=0.5),
        spent="per_step",
        steps=edges,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once",
        sampler_distance=edges * choice_distance(len(all_pairs(facts))),
        reason="A pair's score is the distance of its counts from what the noisy single columns give, summed over cells, times a "
        "weight of at most 1: making a record null moves it by at most 1, replacing it by at most 2.",
    )
