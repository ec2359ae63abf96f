"""Class moments, the floor of every table: three Gaussian releases, and a Gaussian for each class. No network."""

from workbench.methods.class_moments.method import COUNTS, SECOND_MOMENT, SUMS, ClassMoments, ClassMomentsConfig

__all__ = ["COUNTS", "SECOND_MOMENT", "SUMS", "ClassMoments", "ClassMomentsConfig"]
