"""Exact per-record gradients from one backward pass, at about the price of ordinary gradients."""

from workbench.training.per_record.gradients import ClippedSum, PerRecordGradients
from workbench.training.per_record.layers import RULES

__all__ = ["RULES", "ClippedSum", "PerRecordGradients"]
