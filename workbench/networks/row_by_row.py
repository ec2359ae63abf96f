"""Which networks give each row from that row alone."""

from torch import nn

from workbench.networks.classifiers import MLP, SmallCNN
from workbench.networks.critic import Critic
from workbench.networks.low_rank import LowRank
from workbench.networks.noisy_classifier import NoisyClassifier
from workbench.networks.table_denoiser import HiddenPart, TableDenoiser
from workbench.networks.unet import AttentionBlock, ResBlock, UNet, UNetLayer

ROW_BY_ROW: frozenset[type[nn.Module]] = frozenset(
    {UNet, UNetLayer, ResBlock, AttentionBlock, LowRank, SmallCNN, MLP, Critic, NoisyClassifier, TableDenoiser, HiddenPart}
)
"""Networks whose own forward gives each row from that row alone, if their layers do: what a private pass may share by records.

A type enters by proof from its forward, and a test changes single rows of each; no subclass is meant.
"""
