"""Cluster moments: a mixture of Gaussians for each class, from noisy sums of clusters in directions that a noisy second moment has."""

from workbench.methods.cluster_moments.method import ClusterMoments, ClusterMomentsConfig

__all__ = ["ClusterMoments", "ClusterMomentsConfig"]
