"""What AIM releases: single columns, then round by round a choice and the marginal that was chosen; what the model makes of it is free."""

from dataclasses import replace
from itertools import combinations

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.aim.config import AIMConfig
from workbench.models.graphical.junction_tree import Columns, cells_of
from workbench.models.graphical.workloads import Workload, named_sets, shared_weights
from workbench.privacy.accounting.events import ExponentialMechanismDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.exponential import choice_distance
from workbench.training.marginals import marginals_stage, sizes_of

ONE_WAY, CHOICE, MARGINALS, ESTIMATE = "one-way marginals", "choice of marginals", "chosen marginals", "estimate"


def stages(config: AIMConfig, facts: DatasetFacts) -> list[Stage]:
    """The three releases, and the estimate after each of them but the choice."""
    sizes = sizes_of(facts)
    if len(sizes) < 2:
        raise WorkbenchError("Expected a table of at least two columns, the label one of them, got one. Take independent-marginals.")
    rounds, found = config.num_rounds(len(sizes)), candidates(config, facts)
    marginals = marginals_stage(MARGINALS, config.noise_of(config.share_of_marginals / rounds), max(cells_of(sizes, one) for one in found))
    return [
        marginals_stage(ONE_WAY, config.noise_of(config.share_of_one_way), sum(sizes)),
        _choice(config, rounds, len(found)),
        replace(marginals, spent="per_step", steps=rounds),
        Stage(name=ESTIMATE, event=None, spent="free", steps=rounds + 1, reason="It is made of what was released."),
    ]


def _choice(config: AIMConfig, rounds: int, found: int) -> Stage:
    return Stage(
        name=CHOICE,
        event=ExponentialMechanismDpEvent(2.0 * config.choice_epsilon(rounds), zero_out_ratio=0.5),
        spent="per_step",
        steps=rounds,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once",
        sampler_distance=rounds * choice_distance(found),
        reason="A marginal's score is the distance of its counts from what the model so far gives, summed over cells, less what noise "
        "would make of it, times a weight of at most 1: making a record null moves it by at most 1, replacing it by at most 2.",
    )


def workload(config: AIMConfig, facts: DatasetFacts) -> Workload:
    """The sets of columns that are to come out right, each with its weight."""
    if config.sets:
        return named_sets(config.sets, facts)
    columns, label = len(sizes_of(facts)), len(sizes_of(facts)) - 1 if facts.num_classes else -1
    wanted = combinations(range(columns), min(columns, 2 if config.workload == "pairs" else 3))
    return [(one, config.target_weight if label in one else 1.0) for one in wanted]


def candidates(config: AIMConfig, facts: DatasetFacts) -> list[Columns]:
    """The workload's sets and their parts, but for those that no graphical model in the limit has; single columns are always there."""
    sizes, singles = sizes_of(facts), [(column,) for column in range(len(sizes_of(facts)))]
    parts = {part for one, _ in workload(config, facts) for width in range(2, len(one) + 1) for part in combinations(one, width)}
    return singles + sorted((one for one in parts if cells_of(sizes, one) <= config.most_cells), key=lambda one: (len(one), one))


def weights(config: AIMConfig, facts: DatasetFacts) -> list[float]:
    """Of each candidate, how much of the workload it has, over the most that any has."""
    return shared_weights(workload(config, facts), candidates(config, facts))
