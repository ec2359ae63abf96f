"""Class means, the lowest floor: noisy sums and counts by class, and images drawn around each mean with one public spread."""

from workbench.methods.class_means.method import ClassMeans, ClassMeansConfig

__all__ = ["ClassMeans", "ClassMeansConfig"]
