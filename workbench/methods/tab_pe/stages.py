"""What Tab-PE releases: counts of columns within classes, then votes for rows, round by round; the rows follow from the votes before."""

from dataclasses import replace

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.tab_pe.config import TabPEConfig
from workbench.privacy.accounting.stages import Stage
from workbench.training.marginals import marginals_stage, sizes_of

COLUMNS, CANDIDATES, VOTES = "columns within classes", "candidate rows", "votes for rows"


def stages(config: TabPEConfig, facts: DatasetFacts) -> list[Stage]:
    """Counts of columns where they have a share; candidates (free) and votes, in turn."""
    if config.records < facts.num_classes:
        raise WorkbenchError(f"Expected a row at least for each of {facts.num_classes} classes, got records {config.records}.")
    most = config.records * (1 + config.variations)
    votes = marginals_stage(VOTES, config.known_noise_multiplier(), most)
    reason = "A record votes for one row: making it null moves one count by 1, replacing it at most two."
    return [
        *([marginals_stage(COLUMNS, config.noise_of_columns(), cells_of_columns(facts))] if config.share_of_columns else []),
        Stage(name=CANDIDATES, event=None, spent="free", steps=config.rounds + 1, reason="They are made of public facts and noisy votes."),
        replace(votes, spent="per_step", steps=config.rounds, reason=reason),
    ]


def cells_of_columns(facts: DatasetFacts) -> int:
    """How many counts there are of columns, the label's left out, within classes."""
    return sum(sizes_of(facts)[: -1 if facts.num_classes else None]) * max(1, facts.num_classes)
