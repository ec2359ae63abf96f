"""A table's columns made coarser before a model sees them, by releases of their own: edges at quantiles, rare categories merged."""

from workbench.models.grouping.config import Grouping
from workbench.models.grouping.stages import COUNTS, EDGES, RELEASED, grouped_facts, squared_budget, stages

__all__ = ["COUNTS", "EDGES", "RELEASED", "Grouping", "grouped_facts", "squared_budget", "stages"]
