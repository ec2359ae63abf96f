"""What Tab-PE releases: in each round one histogram of votes; the rows that are voted for follow from the histograms before."""

from dataclasses import replace

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.tab_pe.config import TabPEConfig
from workbench.privacy.accounting.stages import Stage
from workbench.training.marginals import marginals_stage

CANDIDATES, VOTES = "candidate rows", "votes for rows"


def stages(config: TabPEConfig, facts: DatasetFacts) -> list[Stage]:
    """Candidates (free) and votes, in turn."""
    if config.records < facts.num_classes:
        raise WorkbenchError(f"Expected a row at least for each of {facts.num_classes} classes, got records {config.records}.")
    most = config.records * (1 + config.variations)
    votes = marginals_stage(VOTES, config.known_noise_multiplier(), most)
    reason = "A record votes for one row: making it null moves one count by 1, replacing it at most two."
    return [
        Stage(name=CANDIDATES, event=None, spent="free", steps=config.rounds + 1, reason="They are made of public facts and noisy votes."),
        replace(votes, spent="per_step", steps=config.rounds, reason=reason),
    ]
