"""Votes and clusters: drawings that records voted for and draws of a mixture of Gaussians, side by side under one bound."""

from workbench.methods.votes_and_clusters.method import VotesAndClusters, VotesAndClustersConfig

__all__ = ["VotesAndClusters", "VotesAndClustersConfig"]
