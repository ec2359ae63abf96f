"""Cluster moments: a mixture of Gaussians for each class, from noisy sums of clusters in directions that a noisy second moment has.

No network and no public image: what it takes of images in general is that their coarse frequencies come first.
"""

from workbench.methods.cluster_moments.config import ClusterMomentsConfig
from workbench.methods.cluster_moments.method import ClusterMoments

__all__ = ["ClusterMoments", "ClusterMomentsConfig"]
