"""Class moments, the floor of every table: three Gaussian releases, and a Gaussian for each class. No network."""

from workbench.methods.class_moments.config import ClassMomentsConfig
from workbench.methods.class_moments.method import ClassMoments
from workbench.methods.class_moments.stages import COUNTS, SECOND_MOMENT, SUMS

__all__ = ["COUNTS", "SECOND_MOMENT", "SUMS", "ClassMoments", "ClassMomentsConfig"]
